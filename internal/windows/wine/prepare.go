package wine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/internal/windows/winver"
)

// Options say what to prepare.
type Options struct {
	// Install is the Wine to use; the zero value asks Find for the one in InstallDir.
	Install    Install
	InstallDir string
	// Dir is the folder that holds the layers of all keys.
	Dir string
	// ShimDir holds Mullion's DLLs and programs (bin/windows/shim), which go into C:\Windows\System32. Empty: none, for
	// tests.
	ShimDir string
	// InitBinary becomes /sbin/mullion-init. Empty: none.
	InitBinary string
	// Packed are folders that may hold a packed prefix (see Pack). With one that fits, wineboot does not run.
	Packed []string
	// Builds are the Windows builds for which a registry is made.
	Builds []winver.Build
	// Log gets one line a step; nil throws them away.
	Log *slog.Logger
}

// Prepare makes the system layer, or finds an existing one: the same Wine, shims and init always give the same folder.
// Missing builds are added. Several processes may call it at once. After a crash in the middle the next call begins
// anew.
func Prepare(ctx context.Context, o Options) (*System, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}

	if err := o.find(); err != nil {
		return nil, err
	}

	key, err := o.key()
	if err != nil {
		return nil, fmt.Errorf("prepare wine system layer: %w", err)
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("prepare wine system layer: %w", err)
	}

	unlock, err := lockFolder(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("prepare wine system layer: %w", err)
	}
	defer unlock()

	s := &System{Dir: filepath.Join(o.Dir, key), Install: o.Install}
	if _, err := os.Stat(filepath.Join(s.Dir, systemFile)); errors.Is(err, fs.ErrNotExist) {
		if err := o.makeSystem(ctx, s); err != nil {
			return nil, fmt.Errorf("prepare wine system layer %q: %w", s.Dir, err)
		}
	}

	for _, b := range o.Builds {
		if err := s.addBuild(b); err != nil {
			return nil, fmt.Errorf("prepare registry of windows %s: %w", b.Name, err)
		}
	}

	return s, nil
}

// find finds the Wine to use, unless it is told.
func (o *Options) find() error {
	if o.Install != (Install{}) {
		return nil
	}
	var err error
	o.Install, err = Find(o.InstallDir)
	return err
}

// key returns a hash of everything that goes into the layer. Wine's own files count by version, size and time, because
// reading half a gigabyte at each start would take a second.
func (o Options) key() (string, error) {
	h := sha256.New()
	if err := o.hashWine(h); err != nil {
		return "", err
	}

	made, err := o.shims()
	if err != nil {
		return "", err
	}
	if o.InitBinary != "" {
		made = append(made, o.InitBinary)
	}

	for _, f := range made {
		sum, err := sumFile(f)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %x\n", filepath.Base(f), sum)
	}

	return hex.EncodeToString(h.Sum(nil))[:16], nil
}

// hashWine adds what tells one Wine from another, and the version of what Prepare makes of it.
func (o Options) hashWine(h hash.Hash) error {
	fmt.Fprintf(h, "layout %d\nwine %s\n", layoutVersion, o.Install.Version)
	files := []string{
		o.Install.Loader, o.Install.Server, filepath.Join(o.Install.UnixDir(), "ntdll.so"),
		filepath.Join(o.Install.DataDir, "wine.inf"),
	}
	if o.Install.Preloader != "" {
		files = append(files, o.Install.Preloader)
	}

	for _, f := range files {
		info, err := os.Stat(f)
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%s %d %d\n", f, info.Size(), info.ModTime().UnixNano())
	}

	return nil
}

func sumFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return nil, err
	}
	return h.Sum(nil), nil
}

// shims lists the DLLs and programs of ShimDir in order of name.
func (o Options) shims() ([]string, error) {
	if o.ShimDir == "" {
		return nil, nil
	}
	entries, err := os.ReadDir(o.ShimDir)
	if err != nil {
		return nil, fmt.Errorf("read shims: %w; build them with `make shims`", err)
	}

	var files []string
	for _, e := range entries {
		if ext := strings.ToLower(filepath.Ext(e.Name())); ext == ".dll" || ext == ".exe" {
			files = append(files, filepath.Join(o.ShimDir, e.Name()))
		}
	}

	return files, nil
}

// lockName is the file of a folder that lockFolder locks.
const lockName = ".lock"

// makeSystem makes the folder of s beside its place and moves it there when it is whole.
func (o Options) makeSystem(ctx context.Context, s *System) error {
	tmp := s.Dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil { // left by a killed run; we hold the lock
		return err
	}
	if err := o.fill(ctx, tmp); err != nil {
		return errors.Join(err, os.RemoveAll(tmp))
	}

	data, err := json.MarshalIndent(o.Install, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, systemFile), append(data, '\n'), 0o644); err != nil {
		return err
	}

	if err := syncTree(tmp); err != nil {
		return err
	}

	return os.Rename(tmp, s.Dir)
}

func (o Options) fill(ctx context.Context, tmp string) error {
	base := filepath.Join(tmp, "base")
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}

	var lacks map[string]original
	if err := o.step("make a windows folder", func() (err error) {
		lacks, err = o.boot(ctx, tmp, base)
		return err
	}); err != nil {
		return err
	}

	if err := o.step("copy elf libraries", func() error { return o.copyUnix(base) }); err != nil {
		return err
	}
	if err := o.step("install shims", func() error { return o.finish(base) }); err != nil {
		return err
	}
	if err := readable(base); err != nil {
		return err
	}

	// The last step: from here on files of the layer are files of the machine's Wine.
	return o.step("link builtin programs", func() error { return o.linkWine(base, lacks) })
}

func (o Options) step(name string, f func() error) error {
	o.Log.Info("prepare wine system layer", "step", name)
	if err := f(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// addBuild makes the layer of one build, if it is not there.
func (s *System) addBuild(b winver.Build) error {
	dir := s.buildDir(b)
	if _, err := os.Stat(dir); err == nil {
		return nil
	}

	tmp := dir + ".tmp"
	if err := os.RemoveAll(tmp); err != nil {
		return err
	}
	if err := os.MkdirAll(tmp, 0o755); err != nil {
		return err
	}

	text, err := os.ReadFile(filepath.Join(s.Base(), "system.reg"))
	if err != nil {
		return err
	}

	edited, err := EditRegistry(string(text), buildKeys(b))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, "system.reg"), []byte(edited), 0o644); err != nil {
		return err
	}

	if err := syncTree(tmp); err != nil {
		return err
	}

	return os.Rename(tmp, dir)
}

// finish adds Mullion's own parts: shims, registry, init, profiles, the folder etc.
func (o Options) finish(base string) error {
	system32 := filepath.Join(base, "Files/windows/system32")
	overrides, err := o.installShims(system32)
	if err != nil {
		return err
	}

	if o.InitBinary != "" {
		if err := copyFile(o.InitBinary, filepath.Join(base, "sbin/mullion-init"), 0o755); err != nil {
			return err
		}
	}
	systemReg, err := os.ReadFile(filepath.Join(base, "system.reg"))
	if err != nil {
		return err
	}

	services, err := ServiceKeys(string(systemReg))
	if err != nil {
		return err
	}
	if err := EditHive(filepath.Join(base, "system.reg"), append(services, machineKeys()...)); err != nil {
		return err
	}

	return EditHive(filepath.Join(base, "user.reg"), userKeys(overrides))
}

// installShims copies the shims into system32 and returns, sorted, the names of Wine's own parts that they replace.
func (o Options) installShims(system32 string) ([]string, error) {
	files, err := o.shims()
	if err != nil {
		return nil, err
	}

	var overrides []string
	for _, f := range files {
		name := filepath.Base(f)
		if install := map[string]func(shim, system32 string) ([]string, error){
			refusal: o.refuseEmpty,
			tools:   o.installTools,
		}[name]; install != nil {
			replaced, err := install(f, system32)
			if err != nil {
				return nil, err
			}
			overrides = append(overrides, replaced...)
			continue
		}

		if err := copyProgram(f, filepath.Join(system32, strings.ToLower(name))); err != nil {
			return nil, err
		}
		if dll, ok := strings.CutSuffix(strings.ToLower(name), ".dll"); ok && o.Install.hasBuiltin(name) {
			overrides = append(overrides, dll)
		}
		if strings.EqualFold(filepath.Ext(name), ".exe") && o.Install.hasBuiltin(name) {
			overrides = append(overrides, strings.ToLower(name)) // for programs Wine wants the name with its ending
		}

		if strings.EqualFold(name, "powershell.exe") {
			for _, as := range []string{"WindowsPowerShell/v1.0/powershell.exe", "pwsh.exe"} {
				if err := copyProgram(f, filepath.Join(system32, as)); err != nil {
					return nil, err
				}
			}
		}
	}

	slices.Sort(overrides)
	return slices.Compact(overrides), nil // a folder of shims may hold what wintools.exe replaces too
}
