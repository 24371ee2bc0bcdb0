-- Asks for speculation again after a rollback or a reduction: a new value is one more try.
local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["specdec.io/retry"] = os.date("!%Y-%m-%dT%H:%M:%SZ") .. " by Argo CD"
return obj
