package csinode

// kubelet is the kubelet's folder.
const kubelet = `C:\var\lib\kubelet`
