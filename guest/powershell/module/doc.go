// Package module finds modules of files and reads what their manifests say. It runs none of them: package engine does.
package module
