"""A URI and a path of the spec -> where an artifact is. What cannot be brought is refused here, with a message."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from specdec_operator.errors import Invalid
from specdec_operator.staging.schemes import BY_NAME, REMOTE, SERVED, UNSERVED, ArtifactKind

MOST_URI: Final = 1024
"""Characters of a URI."""
MOST_FOLDER: Final = 512
"""Characters of a folder inside an artifact."""
MOST_PART: Final = 255
"""Bytes of one part of a folder: what file systems take."""
_FILES: Final = (".tar", ".tar.gz", ".tgz", ".zip", ".gguf")
"""Ends of keys that are one object: archives, which the downloader unpacks, and weights in one file."""
_SCHEME: Final = r"([A-Za-z][A-Za-z0-9+.-]*):(//)?((?s:.*))"
_STRANGE: Final = r"[^A-Za-z0-9._~%+=,:@/-]"
_KEY: Final = r"[^/]*@|[^?#]*[?#]"
"""User and password before the host, or a signed query."""
_CLAIM: Final = r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*"
_NAME: Final = r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,95}"
_HUB: Final = rf"(?P<owner>{_NAME})/(?P<model>{_NAME})(:(?P<revision>{_NAME}))?"
_BUCKET: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,221}"
_HOST: Final = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?(:[0-9]{1,5})?"
_PART: Final = r"[a-z0-9]+(?:(?:\.|__?|-+)[a-z0-9]+)*"
_REGISTRY: Final = r"(?:(?:[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+|localhost)(?::[0-9]+)?|[A-Za-z0-9-]+:[0-9]+)/"
_REPOSITORY: Final = rf"(?:{_REGISTRY})?{_PART}(?:/{_PART})*"
_TAGGED: Final = r"(?P<name>.*?)(?P<tag>:[^/:@]*)?(?P<digest>@.*)?"
_TAG: Final = r":[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}"
_DIGEST: Final = r"@sha256:[0-9a-f]{64}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactSource:
    """Where one artifact lies.

    field: where the spec names it: `spec.model` or `spec.speculation.draft`. uri: without a trailing slash.
    place: the PVC, the image with its tag, the hub's owner, the bucket or the host, in which it is.
    folder: the folder of that PVC or bucket. path: the folder inside the artifact that holds config.json.
    """

    field: str
    kind: ArtifactKind
    scheme: str
    uri: str
    place: str
    folder: str
    path: str

    @property
    def model(self) -> tuple[str, str]:
        """What identifies a model: two sources that agree in it are the same files."""
        if self.kind is ArtifactKind.CLAIM:
            return f"pvc://{self.place}", joined(self.folder, self.path)
        return self.place if self.scheme.startswith("oci") else self.uri.removesuffix("/"), self.path


def source(field: str, uri: str, path: str | None) -> ArtifactSource:
    """The artifact that a part of the spec names. Raises Invalid with the field, the value, the rule and a way out."""
    where = f"{field}.uri"
    scheme, rest = _split(where, uri)
    if scheme in REMOTE and re.match(_KEY, rest):
        rule = "every user who can read this object would see the key; use a Secret instead"
        raise Invalid(where, _without_keys(uri), rule)
    if len(uri) > MOST_URI:
        raise Invalid(where, f"{uri[:60]}…", f"a URI has at most {MOST_URI} characters, and this one has {len(uri)}")
    if strange := re.search(_STRANGE, rest):
        rule = f"{strange[0]!r} is not allowed in a URI; allowed are letters, digits and ._~%+=,:@/-"
        raise Invalid(where, uri, rule)
    place, folder = READERS[scheme](where, uri, rest)
    inside = "/".join(_parts(f"{field}.path", path, path)) if path else ""
    return ArtifactSource(
        field=field,
        kind=BY_NAME[scheme].kind,
        scheme=scheme,
        uri=_whole(scheme, uri),
        place=place,
        folder=folder,
        path=inside,
    )


def _whole(scheme: str, uri: str) -> str:
    """The URI as KServe's downloader must read it: it takes the rest of an s3 URI for the beginning of keys, so that
    s3://models/llama-8b without a slash brings llama-8b-instruct as well.
    """
    plain = uri.removesuffix("/")
    return f"{plain}/" if scheme == "s3" and not plain.lower().endswith(_FILES) else plain


def joined(*folders: str) -> str:
    """Folders below one another; empty ones are left out."""
    return "/".join(filter(None, folders))


def _split(field: str, uri: str) -> tuple[str, str]:
    """The scheme and the rest."""
    match = re.fullmatch(_SCHEME, uri)
    if match is None:
        raise Invalid(field, uri, f"the URI has no scheme; use {SERVED}")
    scheme, slashes, rest = match[1], match[2], match[3]
    if scheme in READERS and slashes:
        return scheme, rest
    lower = scheme.lower()
    way_out = f"write {lower}://" if lower in READERS else UNSERVED.get(lower, f"scheme not supported; use {SERVED}")
    raise Invalid(field, _without_keys(uri), way_out)


def _without_keys(uri: str) -> str:
    """The URI without secrets, which a status must not show."""
    scheme, _, rest = uri.partition("//")
    return f"{scheme}//{re.split('[/?#]', rest.rpartition('@')[2])[0]}/…" if re.match(_KEY, rest) else uri


def _parts(field: str, value: str, folder: str) -> tuple[str, ...]:
    """The parts of a folder; one slash at the end is nothing."""
    parts = folder.removesuffix("/").split("/")
    if len(folder) > MOST_FOLDER:
        rule = f"a folder has at most {MOST_FOLDER} characters, and this one has {len(folder)}"
        raise Invalid(field, f"{value[:60]}…", rule)
    for part in parts:
        if part in ("", ".", ".."):
            raise Invalid(field, value, "a folder must not have empty parts, '.' or '..'")
        if len(part.encode()) > MOST_PART:
            rule = f"a folder name has at most {MOST_PART} bytes, and this one has {len(part.encode())}"
            raise Invalid(field, f"{value[:60]}…", rule)
    if strange := re.search(_STRANGE, folder):
        raise Invalid(field, value, f"{strange[0]!r} is not allowed in a folder name; rename the folder")
    return tuple(parts)


def _claim(field: str, uri: str, rest: str) -> tuple[str, str]:
    claim, slash, folder = rest.partition("/")
    if not claim:
        raise Invalid(field, uri, "name the PVC: pvc://PVC or pvc://PVC/FOLDER")
    if ":" in claim or "@" in claim:
        rule = (
            "the PVC must be in this object's own namespace, because pods cannot mount others; write pvc://PVC/FOLDER"
        )
        raise Invalid(field, uri, rule)
    if len(claim) > 253 or not re.fullmatch(_CLAIM, claim):
        rule = "a PVC name has lower-case letters, digits, '-' and '.', and at most 253 characters"
        raise Invalid(field, uri if len(uri) <= 300 else f"{uri[:60]}…", rule)
    return claim, joined(*_parts(field, uri, folder)) if slash and folder else ""


def _hub(field: str, uri: str, rest: str) -> tuple[str, str]:
    match = re.fullmatch(_HUB, rest.removesuffix("/"))
    if match is not None:
        return match["owner"], ""
    rule = "write hf://OWNER/MODEL or hf://OWNER/MODEL:REVISION"
    if rest.count("/") > 1 and re.match(_HUB, rest):
        rule += f"; set a folder in {field.removesuffix('uri')}path, and name a branch with '/' by its commit"
    raise Invalid(field, uri, rule)


def _bucket(field: str, uri: str, rest: str) -> tuple[str, str]:
    bucket, _, folder = rest.partition("/")
    scheme = uri.partition(":")[0]
    if not re.fullmatch(_BUCKET, bucket):
        raise Invalid(
            field, uri, f"write {scheme}://BUCKET/FOLDER; a bucket name has letters, digits, '-', '_' and '.'"
        )
    if not folder:
        raise Invalid(field, uri, f"name the model's folder, {scheme}://{bucket}/FOLDER: a whole bucket is not a model")
    return bucket, joined(*_parts(field, uri, folder))


def _web(field: str, uri: str, rest: str) -> tuple[str, str]:
    host, _, folder = rest.partition("/")
    if not re.fullmatch(_HOST, host) or not folder:
        raise Invalid(field, uri, "write https://HOST/PATH of an archive, a git repository or an Azure blob folder")
    if host.lower() in ("huggingface.co", "hf.co"):
        raise Invalid(field, uri, "a web page of the hub is not a model; write hf://OWNER/MODEL")
    return host.lower(), joined(*_parts(field, uri, folder))


def _image(field: str, uri: str, rest: str) -> tuple[str, str]:
    match = re.fullmatch(_TAGGED, rest)
    name, tag, digest = (match["name"], match["tag"], match["digest"]) if match else ("", None, None)
    if not name:
        raise Invalid(field, uri, "name the image: oci://REGISTRY/REPOSITORY:TAG")
    if len(name) > MOST_PART:
        raise Invalid(field, f"{uri[:60]}…", f"an image's name has at most {MOST_PART} characters")
    if not re.fullmatch(_REPOSITORY, name):
        lower = "an image's repository is lower-case"
        is_lower = re.fullmatch(_REPOSITORY, name.lower())
        raise Invalid(field, uri, lower if is_lower else "not an image name; write oci://REGISTRY/REPOSITORY:TAG")
    if tag is None and digest is None:
        raise Invalid(field, uri, "add a tag or a digest: without one, the pods of a service may get different models")
    if (tag and not re.fullmatch(_TAG, tag)) or (digest and not re.fullmatch(_DIGEST, digest)):
        raise Invalid(field, uri, "a tag has at most 128 letters, digits, '_', '.', '-'; a digest is @sha256:HEX")
    return rest, ""


READERS: Final[Mapping[str, Callable[[str, str, str], tuple[str, str]]]] = {
    "pvc": _claim,
    "hf": _hub,
    "s3": _bucket,
    "gs": _bucket,
    "https": _web,
    "oci": _image,
    "oci+native": _image,
}
"""The place and the folder in what follows a scheme."""
