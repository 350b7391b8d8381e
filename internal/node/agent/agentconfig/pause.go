package agentconfig

// PausePrograms are upstream's programs in the pause image, by their files in the folder of programs for Windows: where
// they lie on C:, as upstream has them
// (https://github.com/kubernetes/kubernetes/blob/v1.37.1/build/pause/Dockerfile_windows).
func PausePrograms() map[string]string {
	return map[string]string{
		"pause.exe":  "pause.exe",
		"wincat.exe": "Windows/System32/wincat.exe",
	}
}
