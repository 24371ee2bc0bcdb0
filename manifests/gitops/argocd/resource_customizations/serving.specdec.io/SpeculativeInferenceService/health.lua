-- Health of a SpeculativeInferenceService. Read from top to bottom: the first line that applies says it.
-- A rolled back service answers requests, so it is Healthy unless spec.guard.health is Degraded: then it has Stalled.
local function said(status, message)
  return { status = status, message = message }
end

local status = obj.status or {}
if obj.metadata.deletionTimestamp ~= nil then
  local waits = table.concat(obj.metadata.finalizers or {}, ", ")
  if waits == "" then
    return said("Progressing", "being deleted")
  end
  return said("Progressing", "being deleted; waits for " .. waits)
end
if status.observedGeneration == nil or status.observedGeneration < 0 or status.conditions == nil then
  return said("Progressing", "the operator has not handled it yet")
end
if obj.metadata.generation ~= nil and status.observedGeneration ~= obj.metadata.generation then
  return said("Progressing", "the operator has not looked at this generation yet")
end

local found = {}
for _, condition in ipairs(status.conditions) do
  found[condition.type] = condition
end
local function holds(kind)
  return found[kind] ~= nil and found[kind].status == "True"
end

if holds("Reconciling") then
  return said("Progressing", found.Reconciling.reason .. ": " .. found.Reconciling.message)
end
if holds("Stalled") then
  return said("Degraded", found.Stalled.reason .. ": " .. found.Stalled.message)
end
if not holds("Ready") then
  local ready = found.Ready or { reason = "NotReady", message = "condition Ready is not there" }
  return said("Progressing", ready.reason .. ": " .. ready.message)
end
local message = (status.phase or "Ready") .. ": " .. (status.message or found.Ready.message)
if holds("Held") then
  message = message .. " (held: the guard changes nothing by itself)"
end
return said("Healthy", message)
