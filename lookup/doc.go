// Package lookup will be described here.
package lookup
