// Command machine boots one of the guests that releases are tried on (test/machines), with the programs of bin/ in
// /opt/mullion, and says how to log in. It ends with Ctrl-C, and the guest with it. With "table" it prints the page of
// what was tried on them.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"mullion.dev/mullion/test/machines"
	"mullion.dev/mullion/test/machines/guest"
)

func main() {
	if len(os.Args) == 3 && os.Args[1] == "table" {
		if err := table(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}

	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: machine NAME, or machine table FOLDER; the names are")
		for _, m := range guest.Machines() {
			fmt.Fprintln(os.Stderr, " ", m.Name)
		}
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// table prints the page of the results in a folder.
func table(dir string) error {
	results, err := machines.ReadResults(dir)
	if err != nil {
		return err
	}
	return machines.WritePage(os.Stdout, results)
}

func run(ctx context.Context, name string) error {
	m, err := guest.Find(name)
	if err != nil {
		return err
	}
	cache, err := guest.CacheDir()
	if err != nil {
		return err
	}

	packages, err := guest.Needs(ctx, ".")
	if err != nil {
		return err
	}
	disk, err := guest.MakeDisk(ctx, cache, m, packages, func(line string) { fmt.Println(line) })
	if err != nil {
		return err
	}

	work, err := os.MkdirTemp(cache, "run-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	payload := filepath.Join(work, "payload")
	if err := guest.Payload(".", payload); err != nil {
		return err
	}

	fmt.Printf("boot %s (Linux %s), console in %s\n", m.Name, disk.Version, filepath.Join(work, "console.log"))
	g, err := guest.Boot(ctx, guest.Options{
		Machine:     m,
		Disk:        disk,
		Payload:     payload,
		Work:        work,
		Accelerator: os.Getenv("MULLION_MACHINES_ACCEL"),
	})
	defer g.Stop()

	if err != nil {
		return err
	}
	fmt.Printf("ssh -p %d -i %s -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null root@127.0.0.1\n", g.Port(),
		disk.KeyFile)
	<-ctx.Done()
	return nil
}
