// Package xmldoc has XML documents as objects: [xml], their nodes, and XPath.
package xmldoc
