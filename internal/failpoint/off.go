//go:build !failpoints

package failpoint

// Enabled tells whether points do anything.
const Enabled = false

// Here does nothing: see the package comment.
func Here(Point) {}
