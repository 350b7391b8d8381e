// Command cmd is cmd.exe of Windows hosts and containers (see package shell). It is built for Windows.
package main

import "os"

func main() { os.Exit(run()) }
