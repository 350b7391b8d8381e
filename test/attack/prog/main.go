package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"slices"
	"time"
)

const usage = `usage: attack list | calls [NAME...] | reach ADDRESS... | plant FOLDER TARGET... | bomb NAME |
	starvers | sweep ask|root|few [NAME...] | keep NAME | disk NAME | exchange TARGET FILE... | writable | serve |
	hold SOCKET | hand SOCKET MEBIBYTES|own | impostor | lease FILE... |
	link TARGET NAME`

// result is a line of output.
type result struct {
	Name string `json:"name"`
	// Answer is what the attack got.
	Answer string `json:"answer"`
	// Held says that the attack got nowhere.
	Held bool `json:"held"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) == 0 {
		return errors.New(usage)
	}

	switch verb, args := args[0], args[1:]; verb {
	case "list":
		for _, a := range attacks() {
			fmt.Println(a.name)
		}
		return nil

	case "calls":
		return calls(args)
	case "reach":
		return reach(args)
	case "plant":
		return plant(args[0], args[1:])
	case "bomb":
		return explode(args[0])
	case "starvers":
		return json.NewEncoder(os.Stdout).Encode(rows())
	case "sweep":
		return sweep(args[0], args[1:])
	case "take":
		return take(args[0], args[1])
	case "keep":
		return keep(args[0])
	case "disk":
		if write, ok := disks()[args[0]]; ok {
			return write()
		}

	case "exchange":
		return exchange(args[0], args[1:])
	case "writable":
		return writable()
	case "serve":
		return serve()
	case "hold":
		return hold(args[0])
	case "hand":
		return hand(args[0], args[1])
	case "impostor":
		return impostor()
	case "lease":
		return lease(args)
	case "link":
		if code := call(sysSymlink, args[0], args[1]); code < 0 {
			return fmt.Errorf("link to %s: error %d of Linux", args[0], -code)
		}
		return nil
	}

	return errors.New(usage)
}

// calls makes the attacks that are named, or all.
func calls(names []string) error {
	runtime.LockOSThread() // some attacks change the thread that makes them
	out := json.NewEncoder(os.Stdout)
	for _, a := range attacks() {
		if len(names) > 0 && !slices.Contains(names, a.name) {
			continue
		}

		answer := a.try()
		if err := out.Encode(result{
			Name:   a.name,
			Answer: fmt.Sprint(answer),
			Held:   slices.Contains(append(usual(), a.held...), answer),
		}); err != nil {
			return err
		}
	}

	return nil
}

// reach dials TCP addresses.
func reach(addresses []string) error {
	out := json.NewEncoder(os.Stdout)
	for _, address := range addresses {
		r := result{Name: "reach/" + address, Answer: "connected"}
		conn, err := net.DialTimeout("tcp", address, 2*time.Second)
		if err != nil {
			r.Answer, r.Held = err.Error(), true
		} else {
			_ = conn.Close()
		}

		if err := out.Encode(r); err != nil {
			return err
		}
	}

	return nil
}

// plant makes links of Linux in a folder, also below one of its folders, that lead to each of the targets directly,
// with a final slash, through /proc, and up from here; and link0, which leads to a folder beside it.
func plant(folder string, targets []string) error {
	own := folder + "/own"
	if err := os.MkdirAll(own, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(own+"/note", []byte("a note of its own\n"), 0o666); err != nil {
		return err
	}

	if code := call(sysSymlink, "own", "/Files"+folder+"/link0"); code < 0 {
		return fmt.Errorf("link to %q: error %d of Linux", own, -code)
	}

	n := 0
	for _, in := range []string{folder, folder + "/deep/er"} {
		if err := os.MkdirAll(in, 0o777); err != nil {
			return err
		}

		for _, target := range targets {
			for _, text := range []string{
				target, target + "/", "/proc/1/root" + target, "/proc/self/root" + target,
				"../../../../../../../../../../../../../.." + target,
			} {
				n++
				if code := call(sysSymlink, text, fmt.Sprintf("/Files%s/link%d", in, n)); code < 0 {
					return fmt.Errorf("link to %q: error %d of Linux", text, -code)
				}
			}
		}
	}

	fmt.Println("planted", n)
	return nil
}

// serve answers until the pod ends, or somebody asks for the end: a neighbour of attacks, or what keeps a container
// running.
func serve() error {
	server := http.Server{Addr: ":80", ReadHeaderTimeout: time.Minute}
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(w, "here")
		if r.URL.Path == "/end" {
			_ = server.Close()
		}
	})
	return server.ListenAndServe()
}
