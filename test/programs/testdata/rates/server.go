// A server: HTTP at the port that is named.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
)

func main() {
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "http %s %s 0", r.Method, r.URL.Path)
	})))
}
