package volume

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mullion.dev/mullion/guest/tools/program"
	"mullion.dev/mullion/guest/tools/wildcard"
)

// errNoEncryption is the error of a volume that encrypts nothing, ERROR_VOLUME_NOT_SUPPORT_EFS
// (https://learn.microsoft.com/windows/win32/debug/system-error-codes--6000-8199-).
const errNoEncryption = "The disk partition does not support file encryption."

// ciphering is what the switches ask for.
type ciphering struct {
	change string // "encrypted" or "decrypted", "" for a list
	below  bool
	hidden bool
	names  []string
}

// Cipher is cipher.exe (https://learn.microsoft.com/windows-server/administration/windows-commands/cipher): it lists
// files, none of which is encrypted, and refuses to encrypt one.
func Cipher(e program.Env, args []string) int {
	var c ciphering
	absent := []string{
		"/k", "/r", "/u", "/w", "/x", "/y", "/p", "/adduser", "/removeuser", "/rekey", "/flushcache",
	}

	for _, arg := range args {
		name, value, _ := strings.Cut(strings.ToLower(arg), ":")
		switch {
		case !strings.HasPrefix(arg, "/"):
			c.names = append(c.names, arg)
		case name == "/?":
			e.Print("Displays or alters the encryption of directories [files] on NTFS partitions.\r\n\r\n" +
				"CIPHER [/E | /D | /C] [/S:directory] [/B] [/H] [pathname [...]]\r\n")
			return exitDone

		case name == "/e":
			c.change = "encrypted"
		case name == "/d":
			c.change = "decrypted"
		case name == "/s":
			c.below = true
			if value != "" {
				c.names = append(c.names, arg[len("/s:"):])
			}
		case name == "/h":
			c.hidden = true
		case name == "/c", name == "/b", name == "/a", name == "/i", name == "/f", name == "/q":

		case slices.Contains(absent, name):
			e.Complain("%s", errNoEncryption)
			return exitFailed
		default:
			e.Complain("%s: Invalid parameter", arg)
			return exitFailed
		}
	}
	return c.run(e)
}

// run shows what the names mean; the current folder if there is none.
func (c ciphering) run(e program.Env) int {
	if len(c.names) == 0 {
		c.names = []string{"*"}
	}

	code := exitDone
	for _, name := range c.names {
		path, err := filepath.Abs(name)
		if err == nil {
			folder, mask := filepath.Dir(path), filepath.Base(path)
			if info, err := os.Stat(path); err == nil && info.IsDir() && c.below {
				folder, mask = path, "*"
			}
			if !c.show(e, folder, mask, 0) {
				err = fs.ErrNotExist
			}
		}
		if err != nil {
			e.Complain("%s: The system cannot find the file specified.", name)
			code = exitFailed
		}
	}
	if c.change == "encrypted" && code == exitDone {
		code = exitFailed
	}
	return code
}

// show lists the files of a folder that a mask means, or says of each that it cannot be encrypted. It reports whether
// there are any.
func (c ciphering) show(e program.Env, folder, mask string, depth int) bool {
	var found []os.DirEntry
	entries := wildcard.Entries(folder)
	for _, entry := range entries {
		if wildcard.Match(mask, entry.Name()) {
			found = append(found, entry)
		}
	}

	if len(found) > 0 {
		switch c.change {
		case "encrypted":
			e.Print("\r\n Encrypting files in %s\r\n", ended(folder))
		case "decrypted":
			e.Print("\r\n Decrypting files in %s\r\n", ended(folder))
		default:
			e.Print("\r\n Listing %s\r\n New files added to this directory will not be encrypted.\r\n", ended(folder))
		}
	}
	for _, entry := range found {
		switch c.change {
		case "encrypted":
			e.Print("%s          [ERR]\r\n%[1]s: %s", entry.Name(), errNoEncryption)
		case "decrypted":
			e.Print("%s          [OK]", entry.Name())
		default:
			e.Print("U %s", entry.Name())
		}
	}

	any := len(found) > 0
	for _, entry := range entries {
		if c.below && entry.IsDir() && depth < deepest {
			more := c.show(e, filepath.Join(folder, entry.Name()), mask, depth+1)
			any = any || more
		}
	}
	return any
}

// ended returns a folder with the separator at its end.
func ended(folder string) string {
	return strings.TrimSuffix(folder, string(filepath.Separator)) + string(filepath.Separator)
}
