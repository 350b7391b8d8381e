package winapi

import "mullion.dev/mullion/internal/base/support"

func httpRows() []support.Row {
	const http = win32 + "http/"

	return []support.Row{
		{
			Name:  "HTTP Server API (httpapi.dll, http.sys)",
			Level: support.Partly,
			Ref:   http + "http-api-start-page",
			Note: "requests and responses of HTTP/1.1 and 1.0, by version 1 and 2 of the API: server sessions, URL groups, request queues, overlapped calls and completion ports; processes of a " +
				"host, or of a container, share a port by their prefixes. HttpListener and ASP.NET Core's HttpSys run on it, but HttpListener's WebSockets, which need Wine's empty websocket.dll. " +
				"Of properties: state, binding, queue length, times (MinSendRate is kept, not carried out). Trailers of requests are dropped, responses are neither cached nor logged. No account " +
				"has to reserve a URL",
		},
		{
			Name:  "HTTP Server API: HTTPS, HTTP/2, authentication, reservations",
			Level: support.Not,
			Ref:   http + "http-server-api-version-2-0-functions",
			Note: "a prefix of https is refused with ERROR_NOT_SUPPORTED, and so are HttpSetServiceConfiguration (certificates, URL reservations), authentication by the driver, limits of " +
				"connections and bandwidth, logging, fragments in the cache, and queues that another process has made (HTTP_CREATE_REQUEST_QUEUE_FLAG_OPEN_EXISTING)",
		},
	}
}
