// Brings the page up to date every ten seconds, while it is seen and nobody is using it. It works without this, too.
"use strict";
(() => {
  const EVERY = 10000;
  const inUse = () =>
    document.hidden ||
    !document.getSelection().isCollapsed ||
    document.activeElement?.closest("form, .scroll");
  const refresh = async () => {
    if (inUse()) return;
    const answer = await fetch(location.href, { cache: "no-store" });
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    if (inUse()) return;
    const focused = document.activeElement?.getAttribute("href");
    for (const id of ["content", "made"]) {
      const [old, now] = [document.getElementById(id), fresh.getElementById(id)];
      if (old && now && old.innerHTML !== now.innerHTML) old.replaceChildren(...now.childNodes);
    }
    if (focused && document.activeElement === document.body) {
      document.querySelector(`main a[href="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
    }
  };
  setInterval(() => refresh().catch(() => {}), EVERY);
})();
