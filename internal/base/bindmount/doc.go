// Package bindmount binds files and folders over others by their descriptors, so that it is what was opened that is
// mounted. It owns no mount: whoever makes one removes it.
package bindmount
