// Command flexdriver is a FlexVolume driver for the tests of SMB, as Microsoft's is for Windows nodes
// (https://github.com/microsoft/K8s-Storage-Plugins): it maps the share by PowerShell and makes the volume a link to it.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	answer := map[string]any{"status": "Success"}
	if err := run(os.Args[1:], answer); err != nil {
		answer = map[string]any{"status": "Failure", "message": err.Error()}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil || answer["status"] == "Failure" {
		os.Exit(1)
	}
}

func run(args []string, answer map[string]any) error {
	switch {
	case len(args) == 1 && args[0] == "init":
		answer["capabilities"] = map[string]bool{"attach": false}
		return nil
	case len(args) == 3 && args[0] == "mount":
		return mount(args[1], args[2])
	case len(args) == 2 && args[0] == "unmount":
		return os.Remove(filepath.FromSlash(args[1])) // the link
	}
	answer["status"] = "Not supported"
	return nil
}

// mapShare maps a share that is not mapped yet. What it takes comes by the environment, as from kubelet.exe.
const mapShare = `if (-not (Get-SmbGlobalMapping -RemotePath $Env:smbremotepath -ErrorAction SilentlyContinue)) {
$PWord = ConvertTo-SecureString -String $Env:smbpassword -AsPlainText -Force
$Credential = New-Object -TypeName System.Management.Automation.PSCredential -ArgumentList $Env:smbuser, $PWord
New-SmbGlobalMapping -RemotePath $Env:smbremotepath -Credential $Credential -ErrorAction Stop }`

func mount(folder, text string) error {
	var options struct {
		Source   string `json:"source"`
		User     string `json:"kubernetes.io/secret/username"`
		Password string `json:"kubernetes.io/secret/password"`
	}
	if err := json.Unmarshal([]byte(text), &options); err != nil {
		return err
	}

	user, err := base64.StdEncoding.DecodeString(options.User)
	if err != nil {
		return err
	}
	password, err := base64.StdEncoding.DecodeString(options.Password)
	if err != nil {
		return err
	}

	share := strings.ReplaceAll(options.Source, "/", `\`)
	cmd := exec.Command("powershell", "-NoProfile", "-Command", mapShare)
	cmd.Env = append(os.Environ(), "smbremotepath="+share, "smbuser="+string(user), "smbpassword="+string(password))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("map %s: %w: %s", share, err, out)
	}

	folder = filepath.FromSlash(folder)
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return err
	}
	_ = os.Remove(folder) // the kubelet may have made it
	return os.Symlink(share, folder)
}
