package w3svc

import (
	"path"
	"strings"
)

// types returns the MIME types of IIS by a file name's ending, of what web sites have
// (https://learn.microsoft.com/iis/configuration/system.webserver/staticcontent/mimemap). A file of another type is not
// served, as by IIS.
func types() map[string]string {
	return map[string]string{
		".aac": "audio/aac", ".ai": "application/postscript", ".atom": "application/atom+xml",
		".avi": "video/avi", ".bin": "application/octet-stream", ".bmp": "image/bmp", ".cab": "application/vnd.ms-cab-compressed",
		".crl": "application/pkix-crl", ".crt": "application/x-x509-ca-cert",
		".css": "text/css", ".csv": "application/octet-stream", ".der": "application/x-x509-ca-cert",
		".doc": "application/msword", ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
		".dtd": "text/xml", ".eot": "application/vnd.ms-fontobject", ".eps": "application/postscript",
		".exe": "application/octet-stream", ".flv": "video/x-flv", ".gif": "image/gif", ".gz": "application/x-gzip",
		".htm": "text/html", ".html": "text/html", ".ico": "image/x-icon", ".ics": "text/calendar",
		".jar": "application/java-archive", ".jpeg": "image/jpeg", ".jpg": "image/jpeg", ".js": "application/javascript",
		".json": "application/json", ".m4a": "audio/mp4", ".m4v": "video/mp4", ".map": "text/plain", ".mid": "audio/mid",
		".mov": "video/quicktime", ".mp3": "audio/mpeg", ".mp4": "video/mp4", ".mpeg": "video/mpeg", ".mpg": "video/mpeg",
		".msi": "application/octet-stream", ".oga": "audio/ogg", ".ogg": "video/ogg", ".ogv": "video/ogg",
		".otf": "font/otf", ".p7b": "application/x-pkcs7-certificates", ".pdf": "application/pdf",
		".pfx": "application/x-pkcs12", ".png": "image/png", ".ppt": "application/vnd.ms-powerpoint",
		".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation", ".ps": "application/postscript",
		".psd": "application/octet-stream", ".rar": "application/octet-stream", ".rtf": "application/rtf", ".svg": "image/svg+xml", ".svgz": "image/svg+xml",
		".swf": "application/x-shockwave-flash", ".tar": "application/x-tar", ".tgz": "application/x-compressed",
		".tif": "image/tiff", ".tiff": "image/tiff", ".ts": "video/vnd.dlna.mpeg-tts", ".tsv": "text/tab-separated-values",
		".ttf": "application/octet-stream", ".txt": "text/plain", ".vbs": "text/vbscript", ".vcf": "text/x-vcard",
		".wasm": "application/wasm", ".wav": "audio/wav", ".webm": "video/webm",
		".wma": "audio/x-ms-wma", ".wmv": "video/x-ms-wmv", ".woff": "font/x-woff", ".woff2": "application/font-woff2",
		".xhtml": "application/xhtml+xml", ".xls": "application/vnd.ms-excel",
		".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ".xml": "text/xml",
		".xsd": "text/xml", ".xsl": "text/xml", ".xslt": "text/xml", ".zip": "application/x-zip-compressed",
	}
}

// mediaType returns the type of a file by its name; false: IIS has none for it.
func mediaType(name string) (string, bool) {
	kind, ok := types()[strings.ToLower(path.Ext(name))]
	return kind, ok
}
