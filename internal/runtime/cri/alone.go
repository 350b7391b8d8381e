package cri

import (
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"mullion.dev/mullion/internal/runtime/cri/store"
	"mullion.dev/mullion/internal/runtime/engine"
	"mullion.dev/mullion/internal/runtime/image"
	"mullion.dev/mullion/internal/windows/jobobject"
)

// What a container that is no pod's has in common with those of pods, for package single: what its program gets of the
// image, and what it is told of its limits. It is computed here alone.

// Inherited is what a container's program gets of the image, and of who asks for the container.
type Inherited struct {
	// Args are the program and its arguments; Raw says that they are one command line, which Windows splits.
	Args []string
	Raw  bool
	Env  []string
	// Dir is the Windows path in which the program starts.
	Dir string
	// User is a name of Windows.
	User string
	// Volumes are the folders that the image says are written to.
	Volumes []string
}

// Inherit computes what a container's program gets.
func Inherit(config *runtimeapi.ContainerConfig, img image.Info, mounts []engine.Mount) (Inherited, error) {
	args, raw, err := commandLine(config, img)
	if err != nil {
		return Inherited{}, err
	}
	return Inherited{
		Args:    args,
		Raw:     raw,
		Env:     mergeEnv(img.Config.Env, config.GetEnvs()),
		Dir:     workingDir(config, img),
		User:    userName(store.Sandbox{}, config, img.Config.User),
		Volumes: imageVolumes(img, mounts),
	}, nil
}

// JobFile returns the file of a container's working folder that says what its job object answers, with its name.
func JobFile(r *runtimeapi.WindowsContainerResources) (name string, content []byte) {
	return jobFileName, jobobject.File((&Server{}).jobLimits(r))
}
