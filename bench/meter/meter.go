package meter

import (
	"bytes"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Meter adds up the time between Start and Stop.
type Meter struct {
	Wall, CPU, GC time.Duration
	HeapPeakBytes uint64 // greatest heap seen at a stop

	wall    time.Time
	cpu, gc time.Duration
}

// New returns a meter that stands at zero, after collecting garbage and
// forgetting the peak of resident memory.
func New() *Meter {
	debug.FreeOSMemory()
	// Without /proc the peak covers earlier runs too.
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0)
	return &Meter{}
}

// Start begins a part that counts.
func (m *Meter) Start() {
	m.gc, m.cpu, m.wall = gcTime(), CPUTime(), time.Now()
}

// Stop ends it.
func (m *Meter) Stop() {
	m.Wall += time.Since(m.wall)
	m.CPU += CPUTime() - m.cpu
	m.GC += gcTime() - m.gc
	m.HeapPeakBytes = max(m.HeapPeakBytes, HeapBytes())
}

// CPUTime returns the CPU time that the process has used.
func CPUTime() time.Duration {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// gcTime is the CPU time of the collector, idle processors' marking included.
func gcTime() time.Duration {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindFloat64 {
		return 0
	}
	return time.Duration(s[0].Value.Float64() * float64(time.Second))
}

// HeapBytes returns the bytes of objects on the heap, dead ones included.
func HeapBytes() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

// LiveBytes collects garbage and returns what the program holds of the system's
// memory after that: heap spans in use and stacks. It collects several times, as
// happens while a program is idle: pools give up what they keep in two, and a
// collection halves a stack that is used to less than a quarter.
func LiveBytes() int64 {
	for range 4 {
		runtime.GC()
	}
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return int64(s.HeapInuse + s.StackInuse)
}

// HeapLimitMiB is the limit that GOMEMLIMIT sets, 0 without one.
func HeapLimitMiB() int64 {
	limit := debug.SetMemoryLimit(-1)
	if limit >= 1<<62 {
		return 0
	}
	return limit >> 20
}

// RSS and PeakRSS return the resident memory of the process in bytes, now and at
// its peak since [New]; -1 where the system does not tell.
func RSS() int64     { return status("VmRSS:") }
func PeakRSS() int64 { return status("VmHWM:") }

func status(name string) int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	for line := range bytes.Lines(data) {
		text, ok := strings.CutPrefix(string(line), name)
		if !ok {
			continue
		}
		kib, err := strconv.ParseInt(strings.Fields(text)[0], 10, 64)
		if err != nil {
			return -1
		}
		return kib << 10
	}
	return -1
}
