// Command winprog is the Windows program that the tests run in containers: its first argument says what to do.
package main

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/signal"
	"os/user"
	"sort"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 2 {
		fmt.Println("no arguments")
		return
	}
	switch os.Args[1] {
	case "hello":
		fmt.Println("hello from Windows")
		fmt.Fprintln(os.Stderr, "and from stderr")
	case "sleep":
		fmt.Println("sleeping")
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, syscall.SIGTERM)
		sig := <-stop
		fmt.Println("asked to end:", sig)
	case "tick":
		for i := 0; ; i++ {
			fmt.Println("tick", i)
			time.Sleep(20 * time.Millisecond)
		}
	case "burst": // waits for a file, writes n lines and ends
		n, _ := strconv.Atoi(os.Args[2])
		fmt.Print("begin")
		for {
			if _, err := os.Stat(os.Args[3]); err == nil {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		fmt.Println()
		for i := range n {
			fmt.Println("line", i)
		}
	case "exit":
		code, _ := strconv.ParseUint(os.Args[2], 0, 32)
		syscall.ExitProcess(uint32(code))
	case "env":
		env := os.Environ()
		sort.Strings(env)
		fmt.Println(strings.Join(env, "\n"))
	case "whoami":
		host, _ := os.Hostname()
		dir, _ := os.Getwd()
		name := os.Getenv("USERNAME")
		if u, err := user.Current(); err == nil {
			name = u.Username
		}
		fmt.Printf("user=%s host=%s dir=%s\n", name, host, dir)
	case "cat":
		in := bufio.NewScanner(os.Stdin)
		for in.Scan() {
			fmt.Println("got", in.Text())
		}
		fmt.Println("end of input")
	case "read":
		data, err := os.ReadFile(os.Args[2])
		fmt.Printf("%s%v\n", data, err)
	case "write":
		fmt.Println(os.WriteFile(os.Args[2], []byte(os.Args[3]), 0o644))
	case "alloc":
		mib, _ := strconv.Atoi(os.Args[2])
		var keep [][]byte
		for range mib {
			b := make([]byte, 1<<20)
			for j := range b {
				b[j] = 1
			}
			keep = append(keep, b)
		}
		fmt.Println("allocated", len(keep))
	case "tasks": // starts them, and waits
		tasks()
		time.Sleep(time.Hour)
	case "bomb": // starts it, and waits; what it starts leaves it little time to say more
		fmt.Println("starts")
		bomb()
		time.Sleep(time.Hour)
	case "watchers":
		watchers()
		time.Sleep(time.Hour)
	case "fill":
		fill(os.Args[2], os.Args[3])
	case "report": // adds to the report of how this program fares, and waits
		f, err := os.OpenFile(`\\?\unix\run\mullion\report`, os.O_WRONLY|os.O_APPEND, 0)
		if err == nil {
			_, err = f.Write([]byte("failed 5 \xff\n"))
		}
		fmt.Println("reported:", err)
		time.Sleep(time.Hour)
	case "service":
		service(os.Args[2])
	case "job":
		job()
	case "domain":
		domain()
	case "logon":
		logon(os.Args[2], os.Args[3], os.Args[4])
	case "renames":
		renames(os.Args[2])
	case "memory-once":
		sayMemory(syscall.NewLazyDLL("kernel32.dll"))
	case "commit": // and waits
		commit(os.Args[2])
		time.Sleep(time.Hour)
	case "commit-once":
		commit(os.Args[2])
	case "memory":
		memory(os.Args[2])
	case "affinity":
		affinity()
	case "spin":
		for {
		}
	case "httpsys":
		serveOne(os.Args[2], os.Args[3])
	case "listen":
		l, err := net.Listen("tcp", os.Args[2])
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		fmt.Println("listening")
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				line, _ := bufio.NewReader(c).ReadString('\n')
				fmt.Fprintf(c, "you said %s", line)
				c.Close()
			}()
		}
	}
}
