-- While the annotation is there, the guard measures, says what it would do, and changes nothing by itself.
local os = require("os")
if obj.metadata.annotations == nil then
  obj.metadata.annotations = {}
end
obj.metadata.annotations["specdec.io/hold"] = os.date("!%Y-%m-%dT%H:%M:%SZ") .. " by Argo CD"
return obj
