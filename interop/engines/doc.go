// Package engines runs real engines against our tables and ours against theirs:
// Flink SQL, pypaimon and pypaimon-rust, by the commands in the folders beside.
// The tests have the build tag engines, since the engines are large and are built
// at first use; interop/RESULTS.md has the last result.
package engines
