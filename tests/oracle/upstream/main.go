// Command upstream lets kube-scheduler's own plugins judge pods: it reads a case per line from standard input and
// answers a line each on standard output. Nothing but the process is shared between cases. With --hints it tells instead
// what changes of objects mean to a pod that waits, with --search which nodes kube-scheduler finds when it looks for a
// share of them, with --preemption whom it evicts for a pod that finds none, with --validate whether the API server would take the objects of
// each case, and with --place how long it takes to place pods for good in one cluster that a first line describes.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"runtime"
	"runtime/debug"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// Cases are small and many: one thread each, and a garbage collector that comes rarely.
const collectAtPercent = 800

func main() {
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(collectAtPercent)
	klog.SetLogger(logr.Discard())
	metrics.Register()
	bench := newBench()
	modes := map[string]answerer{
		"--hints": bench.hint, "--search": bench.search, "--preemption": bench.preempt, "--validate": bench.validate,
		"--place": (&placing{bench: bench}).step,
	}
	answer := bench.judge
	if len(os.Args) > 1 {
		answer = modes[os.Args[1]]
	}
	if answer == nil {
		log.Fatalf("unknown arguments: %v", os.Args[1:])
	}
	if err := serve(os.Stdin, os.Stdout, answer); err != nil {
		log.Fatal(err)
	}
}

func serve(in io.Reader, out io.Writer, ask answerer) error {
	reader := bufio.NewReaderSize(in, 1<<16)
	writer := bufio.NewWriterSize(out, 1<<16)
	for {
		line, err := reader.ReadBytes('\n')
		if err == io.EOF {
			return writer.Flush()
		}
		if err != nil {
			return err
		}
		reply, err := json.Marshal(guarded(ask, line))
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(writer, "%s\n", reply); err != nil {
			return err
		}
		// Whoever waits for the answer has sent nothing more.
		if reader.Buffered() == 0 {
			if err := writer.Flush(); err != nil {
				return err
			}
		}
	}
}
