// Command upstream lets kube-scheduler's own plugins judge pods: it reads a case per line from standard input and
// answers a line each on standard output. Nothing but the process is shared between cases. With --validate it tells
// instead whether the API server would take the objects of each case.
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
	"slices"

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
	answer := bench.answer
	if slices.Contains(os.Args[1:], "--validate") {
		answer = bench.validate
	}
	if err := serve(os.Stdin, os.Stdout, answer); err != nil {
		log.Fatal(err)
	}
}

func serve(in io.Reader, out io.Writer, judge func([]byte) *answer) error {
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
		reply, err := json.Marshal(judge(line))
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
