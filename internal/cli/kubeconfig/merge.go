package kubeconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// extension is the name of the extension that marks entries as Mullion's.
const extension = "mullion"

// mark is the content of the extension.
type mark struct {
	// Cluster is the data folder of the cluster the entry is for.
	Cluster string `json:"cluster"`
}

// Merge puts the current context of config into the target's file under name (as cluster, user and context), makes it
// the current context, and returns the file's path. cluster is the data folder, kept with the entries. Entries of that
// name from another cluster of Mullion's are replaced; entries of anybody else are an error. An unreadable file is an
// error too, and is left as it is.
func Merge(ctx context.Context, target Target, name, cluster string, config *clientcmdapi.Config) (string, error) {
	path := target.forWriting()
	source, ok := config.Contexts[config.CurrentContext]
	if !ok || config.Clusters[source.Cluster] == nil || config.AuthInfos[source.AuthInfo] == nil {
		return path, fmt.Errorf("merge context %q into %q: the new configuration has no complete current context", name,
			path)
	}

	err := target.edit(ctx, path, func(file *clientcmdapi.Config) error {
		if foreign(file, name) {
			return fmt.Errorf(
				"it has entries named %q that are not Mullion's; rename those or give the cluster another name", name)
		}
		text, err := json.Marshal(mark{Cluster: cluster})
		if err != nil {
			return err
		}

		made := map[string]runtime.Object{extension: &runtime.Unknown{Raw: text, ContentType: runtime.ContentTypeJSON}}
		c, u := config.Clusters[source.Cluster].DeepCopy(), config.AuthInfos[source.AuthInfo].DeepCopy()
		c.Extensions, u.Extensions = made, made
		file.Clusters[name], file.AuthInfos[name] = c, u
		file.Contexts[name] = &clientcmdapi.Context{
			Cluster:    name,
			AuthInfo:   name,
			Extensions: made,
		}

		file.CurrentContext = name
		return nil
	})
	if err != nil {
		return path, fmt.Errorf("merge context %q into %q: %w", name, path, err)
	}

	return path, nil
}

// Remove removes the entries of name that belong to cluster from every file of the target. If the current context is
// removed, none is set; a file in which nothing remains is removed. Missing entries, and entries of other clusters, are
// no error.
func Remove(ctx context.Context, target Target, name, cluster string) error {
	var errs []error
	for _, path := range target.Paths {
		if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
			continue
		}

		err := target.edit(ctx, path, func(file *clientcmdapi.Config) error {
			if remove(file, name, cluster) {
				return nil
			}
			return errUnchanged
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("remove context %q from %q: %w", name, path, err))
		}
	}

	return errors.Join(errs...)
}

// Check reads every existing file of the target, so that a damaged one is found early. The error names the file and,
// where it can, the line.
func Check(target Target) error {
	var errs []error
	for _, path := range target.Paths {
		if _, err := read(path); err != nil {
			errs = append(errs, fmt.Errorf("check kubeconfig %q: %w", path, err))
		}
	}
	return errors.Join(errs...)
}

// errUnchanged ends an edit without a write.
var errUnchanged = errors.New("nothing to change")

func remove(file *clientcmdapi.Config, name, cluster string) bool {
	changed := false
	if c := file.Clusters[name]; c != nil && ownerOf(c.Extensions) == cluster {
		delete(file.Clusters, name)
		changed = true
	}
	if u := file.AuthInfos[name]; u != nil && ownerOf(u.Extensions) == cluster {
		delete(file.AuthInfos, name)
		changed = true
	}

	if c := file.Contexts[name]; c != nil && ownerOf(c.Extensions) == cluster {
		delete(file.Contexts, name)
		changed = true
		if file.CurrentContext == name {
			file.CurrentContext = ""
		}
	}

	return changed
}

// foreign reports whether there are entries of that name that are not marked as Mullion's.
func foreign(file *clientcmdapi.Config, name string) bool {
	c := file.Clusters[name]
	u := file.AuthInfos[name]
	x := file.Contexts[name]
	return (c != nil && ownerOf(c.Extensions) == "") ||
		(u != nil && ownerOf(u.Extensions) == "") ||
		(x != nil && ownerOf(x.Extensions) == "")
}

// ownerOf returns the data folder in an entry's extension, "" if it has none.
func ownerOf(extensions map[string]runtime.Object) string {
	unknown, ok := extensions[extension].(*runtime.Unknown)
	if !ok {
		return ""
	}
	var m mark
	if err := json.Unmarshal(unknown.Raw, &m); err != nil {
		return ""
	}
	return m.Cluster
}

// edit reads the file under its lock, lets change work on it and writes it back in one step.
func (t Target) edit(ctx context.Context, path string, change func(*clientcmdapi.Config) error) error {
	if err := t.makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // the link is kept
	}

	unlock, err := lock(ctx, path)
	if err != nil {
		return err
	}
	defer unlock()

	file, err := read(path)
	if err != nil {
		return err
	}
	if err := change(file); errors.Is(err, errUnchanged) {
		return nil
	} else if err != nil {
		return err
	}

	if len(file.Clusters)+len(file.AuthInfos)+len(file.Contexts) == 0 {
		return os.Remove(path)
	}

	text, err := clientcmd.Write(*file)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}

	return t.write(path, text)
}

// makeFolder makes the folder and its parents, which get the target's owner.
func (t Target) makeFolder(dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := t.makeFolder(filepath.Dir(dir)); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o750); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}

	if t.Owner == nil {
		return nil
	}

	return os.Lchown(dir, t.Owner.UID, t.Owner.GID)
}

// write replaces the file, which keeps its owner; a new file gets the target's owner.
func (t Target) write(path string, text []byte) (err error) {
	owner := t.Owner
	if info, err := os.Stat(path); err == nil {
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			owner = &Owner{UID: int(stat.Uid), GID: int(stat.Gid)}
		}
	}

	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*") // mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()

	if _, err := f.Write(text); err != nil {
		return errors.Join(err, f.Close())
	}
	if owner != nil && (owner.UID != os.Geteuid() || owner.GID != os.Getegid()) {
		if err := f.Chown(owner.UID, owner.GID); err != nil {
			return errors.Join(err, f.Close())
		}
	}

	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}

	return os.Rename(f.Name(), path)
}

// shape has the fields of a kubeconfig that are read to find the line of an error, which clientcmd's errors do not
// name.
type shape struct {
	Clusters []struct {
		Name    string         `yaml:"name"`
		Cluster map[string]any `yaml:"cluster"`
	} `yaml:"clusters"`
	Contexts []struct {
		Name    string         `yaml:"name"`
		Context map[string]any `yaml:"context"`
	} `yaml:"contexts"`
	Users []struct {
		Name string         `yaml:"name"`
		User map[string]any `yaml:"user"`
	} `yaml:"users"`
	CurrentContext string `yaml:"current-context"`
}

// read returns the file's configuration, an empty one if there is no file.
func read(path string) (*clientcmdapi.Config, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return clientcmdapi.NewConfig(), nil
	}
	if err != nil {
		return nil, err
	}

	const remedy = "it was left as it is; correct it, or set KUBECONFIG to another file"
	if err := yaml.Unmarshal(text, &shape{}); err != nil {
		return nil, fmt.Errorf("read: %w (%s)", err, remedy)
	}
	config, err := clientcmd.Load(text)
	if err != nil {
		return nil, fmt.Errorf("read: %w (%s)", err, remedy)
	}

	return config, nil
}

// lockPatience is how long to wait for another program's lock; kubectl and kind hold theirs for milliseconds.
const (
	lockPatience = 5 * time.Second
	lockInterval = 20 * time.Millisecond
)

// lock takes the lock that kubectl and kind use too: the file PATH.lock, which the holder makes.
// https://github.com/kubernetes/client-go/blob/v0.36.3/tools/clientcmd/config.go lockFile
func lock(ctx context.Context, path string) (unlock func(), err error) {
	name := path + ".lock"
	ctx, cancel := context.WithTimeout(ctx, lockPatience)
	defer cancel()
	tick := time.NewTicker(lockInterval)
	defer tick.Stop()

	for {
		f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL, 0)
		if err == nil {
			if err := f.Close(); err != nil {
				return nil, errors.Join(err, os.Remove(name))
			}
			return func() { _ = os.Remove(name) }, nil
		}

		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}

		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("another program holds the lock %q; if none is running, remove that file", name)
		case <-tick.C:
		}
	}
}
