-- Ends a hold: the guard acts by itself again.
if obj.metadata.annotations ~= nil then
  obj.metadata.annotations["specdec.io/hold"] = nil
end
return obj
