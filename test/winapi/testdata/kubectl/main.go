// Command kubectl stands in for kubectl.exe where a script asks it for the ranges of nodes' pods: of all nodes, with
// their systems, or of the one that it names.
package main

import (
	"fmt"
	"os"
	"strings"
)

func main() {
	for _, arg := range os.Args[1:] {
		if strings.HasPrefix(arg, "nodes/") {
			fmt.Println("10.244.1.0/24")
			return
		}
	}

	fmt.Println("linux     10.244.0.0/24")
	fmt.Println("windows   10.244.1.0/24")
	fmt.Println("windows   10.244.2.0/24")
}
