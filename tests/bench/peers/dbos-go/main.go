// DBOS is a library: the workflow, its steps and the caller live in this process, and PostgreSQL holds what happened. The closed loop is
// that of ../load.mjs, with the same settings in the environment.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/jackc/pgx/v5/stdlib"
)

const patience = time.Minute // a slow machine's warm-up and window are drawn out to one run per lane, this much at most
const maxErrors = 100

type loop struct {
	mutex   sync.Mutex
	millis  []float64 // of the runs seen since the pass began
	errors  int
	next    int
	stopped bool
	lanes   sync.WaitGroup
}

func (l *loop) start() (string, bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.next++
	return fmt.Sprintf("run-%d", l.next-1), !l.stopped
}

func (l *loop) lane(ctx dbos.Context) {
	defer l.lanes.Done()
	for run, more := l.start(); more; run, more = l.start() {
		began := time.Now()
		err := runOnce(ctx, run)
		took := time.Since(began)
		l.mutex.Lock()
		if err == nil {
			l.millis = append(l.millis, float64(took.Nanoseconds())/1e6)
		} else if l.errors++; l.errors <= 3 {
			fmt.Fprintln(os.Stderr, err)
		}
		l.mutex.Unlock()
		if err != nil {
			time.Sleep(100 * time.Millisecond)
		}
	}
}

// pass lets the lanes run for so long, and until as many runs were seen as there are lanes; the seconds it took and the runs' times.
func (l *loop) pass(inFlight int, length time.Duration) (float64, []float64) {
	began := time.Now()
	l.mutex.Lock()
	l.millis = nil
	l.mutex.Unlock()
	for {
		time.Sleep(max(5*time.Millisecond, min(100*time.Millisecond, length-time.Since(began))))
		passed := time.Since(began)
		l.mutex.Lock()
		seen, errors := len(l.millis), l.errors
		if passed >= length && (seen >= inFlight || passed >= length+patience) {
			millis := l.millis
			l.millis = nil
			l.mutex.Unlock()
			return passed.Seconds(), millis
		}
		l.mutex.Unlock()
		if errors >= maxErrors {
			fail(fmt.Errorf("%d errors", errors))
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "dbos-go:", err)
	os.Exit(1)
}

func seconds(name string) time.Duration {
	value, err := strconv.ParseFloat(os.Getenv(name), 64)
	if err != nil {
		fail(err)
	}
	return time.Duration(value * float64(time.Second))
}

func round(value float64, digits int) float64 {
	scale := math.Pow10(digits)
	return math.Round(value*scale) / scale
}

func percentile(sorted []float64, share float64) float64 {
	return round(sorted[min(len(sorted)-1, max(0, int(math.Ceil(float64(len(sorted))*share))-1))], 2)
}

// verify: what was counted must be there, a whole set of steps for every run that ended, in a PostgreSQL that was not told to forget.
func verify(url string) {
	database, err := sql.Open("pgx", url)
	if err != nil {
		fail(err)
	}
	defer database.Close()
	for _, setting := range []string{"fsync", "synchronous_commit", "full_page_writes"} {
		var value string
		if err := database.QueryRow("show " + setting).Scan(&value); err != nil || value != "on" {
			fail(fmt.Errorf("%s is %q (%v)", setting, value, err))
		}
	}
	var runs, bad int
	err = database.QueryRow(`select count(*), count(*) filter (where steps <> $1) from (
	  select (select count(*) from dbos.operation_outputs o where o.workflow_uuid = w.workflow_uuid) as steps
	  from dbos.workflow_status w where status = 'SUCCESS') ended`, steps).Scan(&runs, &bad)
	if err != nil || runs == 0 || bad != 0 {
		fail(fmt.Errorf("%d of %d runs do not have %d steps (%v)", bad, runs, steps, err))
	}
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "github.com/dbos-inc/dbos-transact-golang" {
			return module.Version[1:]
		}
	}
	return "unknown"
}

func main() {
	url := os.Getenv("PEER_PG_URL")
	inFlight, err := strconv.Atoi(os.Getenv("PEER_IN_FLIGHT"))
	if err != nil {
		fail(err)
	}
	groups := map[string][]int{}
	if err := json.Unmarshal([]byte(os.Getenv("PEER_CPU")), &groups); err != nil {
		fail(err)
	}
	groups["sdk"] = []int{os.Getpid()}
	quiet := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	ctx, err := dbos.NewContext(context.Background(), dbos.Config{AppName: "acl-bench", DatabaseURL: url, Logger: quiet})
	if err != nil {
		fail(err)
	}
	dbos.RegisterWorkflow(ctx, tenSteps)
	if err := dbos.Launch(ctx); err != nil {
		fail(err)
	}

	var l loop
	for range inFlight {
		l.lanes.Add(1)
		go l.lane(ctx)
	}
	l.pass(inFlight, seconds("PEER_WARMUP_S"))
	l.mutex.Lock()
	l.errors = 0
	l.mutex.Unlock()
	before := sample(groups)
	took, millis := l.pass(inFlight, seconds("PEER_WINDOW_S"))
	after := sample(groups)
	l.mutex.Lock()
	l.stopped = true
	errors := l.errors
	l.mutex.Unlock()
	l.lanes.Wait()
	if len(millis) == 0 {
		fail(fmt.Errorf("no run was seen in %.0f s", took))
	}
	verify(url)

	slices.Sort(millis)
	done := float64(len(millis) * steps)
	cpu := map[string]float64{}
	for name := range groups {
		cpu[name] = round((after[name]-before[name])/done, 1)
	}
	row, _ := json.Marshal(map[string]any{
		"peer": "dbos-go", "version": version(), "sdk": version(), "in_flight": inFlight, "window_s": round(took, 1),
		"steps_per_s": round(done/took, 1), "runs_per_s": round(float64(len(millis))/took, 2),
		"p50_ms": percentile(millis, 0.5), "p99_ms": percentile(millis, 0.99), "errors": errors, "cpu_us_per_step": cpu,
	})
	fmt.Println(string(row))
}
