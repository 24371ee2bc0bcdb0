-- What makes sense now. Annotations ask; the operator answers in the status. `specdec` offers the same acts.
local annotations = obj.metadata.annotations or {}
local guard = (obj.status or {}).guard or {}
local speculates = obj.spec.speculation ~= nil
local going = obj.metadata.deletionTimestamp ~= nil
local held = (annotations["specdec.io/hold"] or "") ~= ""
local changed = guard.rollback ~= nil or guard.reduced ~= nil
local by_request = guard.rollback ~= nil and guard.rollback.reason == "Requested"
local seen = guard.state ~= nil

return {
  retry = { disabled = going or not (speculates and changed), displayName = "Try speculation again" },
  rollback = { disabled = going or not (speculates and seen) or by_request, displayName = "Take speculation out" },
  hold = { disabled = going or held, displayName = "Hold the guard" },
  release = { disabled = going or not held, displayName = "Release the guard" },
}
