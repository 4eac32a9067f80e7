// Package lint holds the rules of this code base that a test can check: the
// wall of imports, one owner for each third-party module, and a package comment
// everywhere. It has no code outside of its tests; `go test ./internal/lint`
// runs them, and docs/ARCHITECTURE.md draws the wall.
package lint
