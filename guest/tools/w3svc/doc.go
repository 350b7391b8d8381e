// Package w3svc owns the service W3SVC of images that have a web site in C:\inetpub\wwwroot, as Microsoft's images of
// IIS have (https://github.com/microsoft/iis-docker). IIS itself is Microsoft's own code. This is a server of static files
// in its place: the default documents, the types, the refusals and the log are those of IIS with its static content
// module and nothing else installed. It carries out no web.config: a folder that has one is answered with an error, as
// are all below it.
package w3svc

import (
	"net/http"
	"os"
	"time"
)

// Name is the service's name, as Windows has it.
const Name = "W3SVC"

// Site is the folder of the default web site, and Logs that of its log, as IIS has them.
const (
	Site = `C:\inetpub\wwwroot`
	Logs = `C:\inetpub\logs\LogFiles\W3SVC1`
)

// Port is the TCP port of the default web site.
const Port = 80

// limits of a request: IIS' connectionTimeout and headerWaitTimeout
// (https://learn.microsoft.com/iis/configuration/system.applicationhost/sites/sitedefaults/limits), and http.sys'
// MaxRequestBytes (https://learn.microsoft.com/troubleshoot/developer/webapps/iis/iisadmin-service-inetinfo/httpsys-registry-windows).
const (
	idle       = 2 * time.Minute
	maxHeaders = 16 << 10
)

// NewServer serves the folder site, and writes a line for each request into log.
func NewServer(site *os.Root, log *Log) *http.Server {
	return &http.Server{
		Handler:           logged{handler{site}, log},
		ReadHeaderTimeout: idle,
		IdleTimeout:       idle,
		MaxHeaderBytes:    maxHeaders,
	}
}
