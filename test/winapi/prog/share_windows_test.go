package prog

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestShares uses the share \\server\share, a folder of Linux here, and links to it.
func TestShares(t *testing.T) {
	const share = `\\Server\Share`
	wantContent(t, share+`\file`, "in the share")
	wantContent(t, `\\?\UNC\server\share\FILE`, "in the share")
	mkdir(t, share+`\made\below`)
	write(t, share+`\made\below\new`, "new")
	if err := os.Rename(share+`\made\below\new`, share+`\made\moved`); err != nil {
		t.Error(err)
	}

	if entries, err := os.ReadDir(share + `\made`); err != nil || len(entries) != 2 {
		t.Errorf("entries: %v, %v", entries, err)
	}
	if _, err := os.Stat(`\\server\none\file`); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a share that is not there: %v", err)
	}

	dir := t.TempDir()
	link := symlink(t, share, filepath.Join(dir, "link"))
	wantTarget(t, link, `\\server\share`)
	wantContent(t, filepath.Join(link, "file"), "in the share")
	if info, err := os.Lstat(link); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link: %v, %v", info, err)
	}

	if info, err := os.Stat(link); err != nil || !info.IsDir() {
		t.Errorf("what the link leads to: %v, %v", info, err)
	}
	deep := symlink(t, `\\?\UNC\server\share\made`, filepath.Join(dir, "deep"))
	wantTarget(t, deep, `\\server\share\made`)
	wantContent(t, filepath.Join(deep, "moved"), "new")
	if out, err := exec.Command("cmd", "/c", "mklink", "/D", filepath.Join(dir, "by-cmd"), share+`\made`).CombinedOutput(); err != nil {
		t.Errorf("mklink: %v %s", err, out)
	}

	wantContent(t, filepath.Join(dir, `by-cmd\moved`), "new")
	moved := filepath.Join(mkdir(t, filepath.Join(dir, `a\b`)), "moved-link")
	if err := os.Rename(link, moved); err != nil {
		t.Error(err)
	}

	wantTarget(t, moved, `\\server\share`)
	wantContent(t, filepath.Join(moved, "file"), "in the share")
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
	wantContent(t, share+`\file`, "in the share") // it was not removed through the links
}
