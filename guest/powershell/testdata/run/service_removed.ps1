Remove-Service kubelet; Get-Service kubelet; 'stuck' | Remove-Service; (Get-Service stuck).Status; Remove-Service nothere
