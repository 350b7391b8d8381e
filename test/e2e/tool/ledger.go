package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"
)

// ledger FILE ADDRESS: answers each request with a number, one more than the last, which it has first written to the
// end of the file and to the disk. A new process continues with the last number in the file.
func ledger(args []string) error {
	last, err := countLines(args[0])
	if err != nil {
		return err
	}
	file, err := os.OpenFile(args[0], os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	defer file.Close()

	var mu sync.Mutex
	server := http.Server{
		Addr:              args[1],
		ReadHeaderTimeout: time.Minute,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()

			_, err := fmt.Fprintln(file, last+1)
			if err == nil {
				err = file.Sync()
			}
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}

			last++
			fmt.Fprintln(w, last)
		}),
	}
	fmt.Println("the ledger goes on at", last)

	return server.ListenAndServe()
}

func countLines(name string) (int, error) {
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer file.Close()

	n := 0
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		n++
	}

	return n, lines.Err()
}
