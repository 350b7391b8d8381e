package wine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"mullion.dev/mullion/internal/base/elflibs"
	"mullion.dev/mullion/internal/base/filecopy"
	"mullion.dev/mullion/internal/windows/pefile"
)

// bootTries is how often wineboot is started. For a new prefix Wine itself starts another one first, which makes the
// prefix, and waits for it, but for five minutes only (Wine 8.0, "boot event wait timed out"). Then it goes on without
// what is still being copied, and ends: "could not load kernel32.dll, status c0000135". A machine that is emulated, or
// very busy, takes longer.
const bootTries = 3

// driveC is the folder of a prefix that is C:. In a layer it has the name that an image's drive has, see layerName.
const driveC = "drive_c"

// layerName returns the path in a layer of a file on a prefix's C:.
func layerName(name string) string { return "Files" + strings.TrimPrefix(name, driveC) }

// boot makes a prefix below tmp, of a packed one if there is one for this Wine, and moves it to base. The files that
// base lacks yet are for addOriginals.
func (o Options) boot(ctx context.Context, tmp, base string) (lacks map[string]original, err error) {
	prefix := filepath.Join(tmp, "prefix")
	lacks, there, err := o.unpack(prefix)
	if err != nil {
		return nil, err
	}

	if !there {
		if err := o.wineboot(ctx, tmp, prefix); err != nil {
			return nil, err
		}
	}

	if err := adopt(prefix, base); err != nil {
		return nil, err
	}
	return lacks, os.RemoveAll(prefix)
}

// wineboot runs wineboot in a new prefix. It takes 8 s on a slow machine of two cores, and minutes on an emulated one.
func (o Options) wineboot(ctx context.Context, tmp, prefix string) error {
	scratch := filepath.Join(tmp, "scratch")
	for _, dir := range []string{prefix, scratch} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}

	// Of the machine's fonts a cache would be left in /var/cache.
	fonts := filepath.Join(scratch, "fonts.conf")
	if err := os.WriteFile(fonts, []byte(fontsConfig(scratch, "/usr/share/fonts")), 0o644); err != nil {
		return err
	}

	env := []string{
		"WINEPREFIX=" + prefix, "FONTCONFIG_FILE=" + fonts, "WINEARCH=win64", "WINELOADER=" + o.Install.Loader, "WINESERVER=" + o.Install.Server,
		"WINEDEBUG=-all",
		// No offers to download Mono and Gecko, no menu entries.
		"WINEDLLOVERRIDES=mscoree,mshtml=;winemenubuilder.exe=d",
		// Wine links profile folders to those below HOME.
		"HOME=" + scratch, "LANG=C.UTF-8", "PATH=/usr/bin:/bin",
	}

	run := func(ctx context.Context, program string, args ...string) error {
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Env = env
		cmd.Dir = scratch
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out

		// A process that wineboot leaves behind holds the pipe; it is waited for with wineserver -w.
		cmd.WaitDelay = time.Second
		err := startWithRuntimeDir(cmd, scratch)
		if err == nil {
			err = cmd.Wait()
		}
		if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
			return fmt.Errorf("run %s %s: %w: %s", program, strings.Join(args, " "), err,
				strings.TrimSpace(out.String()))
		}

		return nil
	}

	var err error
	for try := 1; ; try++ {
		err = run(ctx, o.Install.Loader, "wineboot", "--init")
		failed := err
		if err == nil || ctx.Err() == nil {
			err = errors.Join(err, run(ctx, o.Install.Server, "-w")) // also for a wineboot that was not waited for
		}
		if failed == nil || try == bootTries || ctx.Err() != nil {
			break
		}
		o.Log.Warn("make a windows folder with wineboot: try again", "error", failed)
	}

	if err != nil {
		killCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		return errors.Join(err, run(killCtx, o.Install.Server, "-k"))
	}

	return os.RemoveAll(scratch)
}

// adopt turns a prefix that wineboot made into the base layer: only C:, no links to the machine's folders, the accounts
// of a container.
func adopt(prefix, base string) error {
	for _, dir := range []string{
		"dosdevices", "etc", "dev", "proc", "sys", "run/mullion",
		"usr/lib", "usr/lib64", "usr/bin", "sbin",
	} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			return err
		}
	}

	if err := os.Rename(filepath.Join(prefix, driveC), filepath.Join(base, layerName(driveC))); err != nil {
		return err
	}
	for _, file := range []string{"system.reg", "user.reg", "userdef.reg", ".update-timestamp"} {
		if err := os.Rename(filepath.Join(prefix, file), filepath.Join(base, file)); err != nil {
			return err
		}
	}

	for link, target := range map[string]string{
		"dosdevices/c:": "../Files",
		"lib":           "usr/lib",
		"lib64":         "usr/lib64",
		"bin":           "usr/bin",
	} {
		if err := os.Symlink(target, filepath.Join(base, link)); err != nil {
			return err
		}
	}

	for name, text := range etcFiles() {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(base, name)), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(base, name), []byte(text), 0o644); err != nil {
			return err
		}
	}

	if err := makeProfiles(base); err != nil {
		return err
	}

	// All users write events.
	for _, dir := range []string{"tmp", "Files/windows/temp", "Files/windows/system32/winevt/Logs"} {
		path := filepath.Join(base, dir)
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		if err := os.Chmod(path, 0o777|fs.ModeSticky); err != nil { // MkdirAll would apply the umask
			return err
		}
	}

	return nil
}

// makeProfiles replaces the profile of the user who ran wineboot by those of a container's and a host's accounts.
func makeProfiles(base string) error {
	users := filepath.Join(base, "Files/users")
	entries, err := os.ReadDir(users)
	if err != nil {
		return err
	}

	for _, e := range entries {
		if e.Name() == "Public" {
			continue
		}
		if err := os.RemoveAll(filepath.Join(users, e.Name())); err != nil {
			return err
		}

		for _, hive := range []string{"system.reg", "user.reg", "userdef.reg"} {
			path := filepath.Join(base, hive)
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			if err := os.WriteFile(path, []byte(replaceUser(string(text), e.Name(), AdminUser)), 0o644); err != nil {
				return err
			}
		}
	}

	for _, user := range []string{AdminUser, User, HostUser} {
		for _, dir := range profileDirs(user) {
			if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
				return err
			}
		}
	}

	return filepath.WalkDir(filepath.Join(users, User), func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, 1000, 1000)
	})
}

// linkWine ends a base layer: the files of Wine's own that boot left out, and names of the installed files instead of
// copies.
func (o Options) linkWine(base string, lacks map[string]original) error {
	if err := addOriginals(base, lacks); err != nil {
		return err
	}
	return linkBuiltins(o.Install.WindowsDir(), filepath.Join(base, layerName(driveC)))
}

// linkBuiltins replaces each file below dir that equals one of Wine's own by a hard link to it, if both are on one
// file system. That saves half a gigabyte on disk, and a second copy in memory. Nothing is written to the layer after
// this, which would change the installed Wine; an overlay above it writes to copies.
func linkBuiltins(builtins, dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		builtin := filepath.Join(builtins, e.Name())
		if there, err := linked(path, builtin); err != nil || there {
			return err
		}

		same, err := sameContent(path, builtin)
		if err != nil || !same {
			return err
		}

		tmp := path + ".link"
		if err := os.Link(builtin, tmp); err != nil {
			return nil //nolint:nilerr // another file system, or too many links: the copy stays
		}
		return os.Rename(tmp, path)
	})
}

// linked reports whether two names are those of one file; rename would leave both.
func linked(a, b string) (bool, error) {
	ia, err := os.Lstat(a)
	if err != nil {
		return false, err
	}
	ib, err := os.Lstat(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(ia, ib), err
}

// sameContent compares two files; one that does not exist equals nothing.
func sameContent(a, b string) (bool, error) {
	fb, err := os.Open(b)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer fb.Close()

	fa, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer fa.Close()
	ia, err := fa.Stat()
	if err != nil {
		return false, err
	}

	ib, err := fb.Stat()
	if err != nil {
		return false, err
	}
	if ia.Size() != ib.Size() || !ib.Mode().IsRegular() {
		return false, nil
	}

	bufA, bufB := make([]byte, 256<<10), make([]byte, 256<<10)
	for {
		n, errA := io.ReadFull(fa, bufA)
		m, errB := io.ReadFull(fb, bufB)
		if n != m || !bytes.Equal(bufA[:n], bufB[:m]) {
			return false, nil
		}
		if errA == io.EOF || errA == io.ErrUnexpectedEOF {
			return true, nil
		}

		if errA != nil || errB != nil {
			return false, errors.Join(errA, errB)
		}
	}
}

// copyUnix copies the machine's libraries that Wine needs, so that a container sees nothing of the machine but Wine's
// library folder.
func (o Options) copyUnix(base string) error {
	var libs []string
	for _, name := range consoleLibs() {
		path := filepath.Join(o.Install.UnixDir(), name)
		if _, err := os.Stat(path); err == nil {
			libs = append(libs, path)
		}
	}

	programs := []string{o.Install.Loader, o.Install.Server}
	// Wine's own libraries are beside the library that needs them, and it works without openedLibs that the machine has
	// not.
	files, err := elflibs.Closure(programs, libs, openedLibs(), consoleLibs())
	if err != nil {
		return err
	}

	if o.Install.Preloader != "" { // it is linked statically
		files = append(files, o.Install.Preloader)
	}
	for _, f := range append(files, programs...) {
		if err := copyFile(f, filepath.Join(base, f), 0o755); err != nil {
			return err
		}
	}

	for _, f := range []string{"/etc/ld.so.cache", filepath.Join(o.Install.DataDir, "wine.inf")} {
		if err := copyFile(f, filepath.Join(base, f), 0o644); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}

	if err := os.MkdirAll(filepath.Join(base, o.Install.LibDir), 0o755); err != nil {
		return err
	}
	if err := copyTree(utf8Locale, base); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // without one in the distribution, glibc's built-in one is used
	}

	return copyTree(filepath.Join(o.Install.DataDir, "nls"), base)
}

// utf8Locale is the folder of the locale C.UTF-8 on Debian and Fedora (LANG, see environment). Without it glibc falls
// back to ASCII, and Wine cannot name a file grün.txt.
const utf8Locale = "/usr/lib/locale/C.utf8"

// copyTree copies the regular files below dir to the same place below base.
func copyTree(dir, base string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		return copyFile(path, filepath.Join(base, path), 0o644)
	})
}

// copyProgram is copyFile of a Windows program or library. The copy can be mapped into memory as Wine's own can: its
// sections begin at whole pages, so that processes share them and read what they use. An existing file is replaced.
func copyProgram(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	aligned, err := pefile.Align(data)
	if err != nil {
		return copyFile(from, to, 0o755) // it works all the same
	}

	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}

	return os.WriteFile(to, aligned, 0o755)
}

// copyFile copies the content of from to a new file, in a folder that it makes, with the time of the original, which
// Wine compares for wine.inf.
func copyFile(from, to string, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	info, err := filecopy.New(from, to, mode)
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}
