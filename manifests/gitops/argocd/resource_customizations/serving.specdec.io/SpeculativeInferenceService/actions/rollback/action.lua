-- Takes speculation out until it is retried or the spec asks for another one.
local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["specdec.io/rollback"] = os.date("!%Y-%m-%dT%H:%M:%SZ") .. " by Argo CD"
return obj
