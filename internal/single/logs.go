package single

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"mullion.dev/mullion/internal/base/plaintext"
	"mullion.dev/mullion/internal/base/rotate"
)

// LogOptions say what is shown of a container's log.
type LogOptions struct {
	// Tail is how many of the last lines are shown; below 0: all.
	Tail int
	// Since leaves out what is older.
	Since time.Time
	// Until leaves out what is newer; zero: nothing is.
	Until time.Time
	// Timestamps puts before each line when it came.
	Timestamps bool
	// Follow shows what comes until the container has ended.
	Follow bool
}

// followEvery is how often it is looked for what is added.
const followEvery = 100 * time.Millisecond

// Logs shows the log of a container: what its program has said on standard output, and on standard error.
func (c *Client) Logs(ctx context.Context, k Container, o LogOptions, out, errs io.Writer) error {
	wait := func(ctx context.Context) (End, error) { return c.Wait(ctx, k.ID) }
	_, err := c.showUntilEnd(ctx, k, o, &logPrinter{out: out, errs: errs}, wait)
	if errors.Is(err, errUnknownEnd) { // it may be removed already
		return nil
	}
	return err
}

// Attach shows what the program of a container that runs says from now on. When this run has ended, it returns how,
// whether or not the container begins anew by itself.
func (c *Client) Attach(ctx context.Context, k Container, out, errs io.Writer) (End, error) {
	o := LogOptions{
		Follow: true,
		Tail:   -1,
		Since:  time.Now(),
	}
	return c.showUntilEnd(ctx, k, o, &logPrinter{out: out, errs: errs}, func(ctx context.Context) (End, error) {
		e, err := c.answerOnce(ctx, Request{Wait: k.ID}) // a further engine would wait for the next run
		if err != nil || e.Ended == nil {
			return End{}, err
		}
		return *e.Ended, nil
	})
}

// errUnknownEnd is the error of a container of which the engine does not say how it has ended.
var errUnknownEnd = errors.New("how the container has ended is not known")

// showUntilEnd shows the log of a container, and returns how the container has ended, if it is followed so long. The
// error is errUnknownEnd, with the engine's refusal, if the engine does not say it.
func (c *Client) showUntilEnd(ctx context.Context, k Container, o LogOptions, to *logPrinter,
	wait func(context.Context) (End, error),
) (end End, err error) {
	l := &logReader{path: k.Log}
	defer l.close()
	to.timestamps = o.Timestamps
	err = showLog(l, o, to)
	if err != nil || !o.Follow || (!o.Until.IsZero() && !o.Until.After(time.Now())) {
		return end, err
	}

	var told End // once ended has said something
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		var err error
		told, err = wait(ctx)
		ended <- err
	}()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()

	var late <-chan time.Time
	if !o.Until.IsZero() {
		timer := time.NewTimer(time.Until(o.Until))
		defer timer.Stop()
		late = timer.C
	}

	for over := false; ; {
		if err := l.each(o.until(to.print)); err != nil {
			return End{}, err
		}
		if over {
			return end, err
		}

		select {
		case <-ctx.Done():
			return End{}, context.Cause(ctx)
		case err = <-ended:
			if _, refused := errors.AsType[*Refusal](err); refused {
				err = fmt.Errorf("%w: %w", errUnknownEnd, err)
			} else if err != nil {
				return End{}, err
			}
			end, over = told, true // it may have said something since

		case <-late:
			over = true // it may have said something before
		case <-tick.C:
		}
	}
}

// until is do for the records that are not newer than is asked for.
func (o LogOptions) until(do func(logRecord) error) func(logRecord) error {
	return func(r logRecord) error {
		if !o.Until.IsZero() && r.at.After(o.Until) {
			return nil
		}
		return do(r)
	}
}

// fewRecords is how many records are held at least before those that are not among the last are let go.
const fewRecords = 1 << 10

// showLog shows what there is of a log.
func showLog(l *logReader, o LogOptions, to *logPrinter) error {
	var held []logRecord
	most := fewRecords
	err := l.each(o.until(func(r logRecord) error {
		switch {
		case r.at.Before(o.Since):
			return nil
		case o.Tail < 0:
			return to.print(r)
		}

		if held = append(held, r); len(held) >= most {
			held = slices.Clone(lastLines(held, o.Tail))
			most = max(fewRecords, 2*len(held))
		}
		return nil
	}))
	if err != nil || o.Tail < 0 {
		return err
	}

	for _, r := range lastLines(held, o.Tail) {
		if err := to.print(r); err != nil {
			return err
		}
	}

	return nil
}

// lastLines returns the records of the last lines. What is after the last line's end is a line, too.
func lastLines(all []logRecord, lines int) []logRecord {
	for i, r := range slices.Backward(all) {
		if !r.whole && i < len(all)-1 {
			continue // it is of the line behind it
		}
		if lines == 0 {
			return all[i+1:]
		}
		lines--
	}
	return all
}

// logRecord is a record of a log: a line, or a part of one.
type logRecord struct {
	at     time.Time
	stderr bool
	whole  bool // the end of a line
	text   []byte
}

// unreadable returns a line that is no record, as where the engine was killed or the disk was full, in the middle of
// one. It is shown as it is, and as of the time of the record before it.
func unreadable(line []byte, at time.Time) logRecord {
	return logRecord{
		at:    at,
		whole: true,
		text:  []byte(plaintext.OneLine(string(line))),
	}
}

// parseRecord reads what package stream writes.
func parseRecord(line []byte) (r logRecord, err error) {
	fields := bytes.SplitN(line, []byte(" "), 4)
	if len(fields) < 4 {
		return r, fmt.Errorf("read log: %q is no record", line)
	}
	if r.at, err = time.Parse(time.RFC3339Nano, string(fields[0])); err != nil {
		return r, fmt.Errorf("read log: %w", err)
	}
	r.stderr = string(fields[1]) == "stderr"
	r.whole = string(fields[2]) == "F"
	r.text = fields[3]
	return r, nil
}

// logPrinter prints records as the program has said them.
type logPrinter struct {
	out, errs  io.Writer
	timestamps bool
	within     [2]bool // whether a line of standard output, or of standard error, has begun
}

// timestamp is the form of the time before a line, Docker's: all have one width.
const timestamp = "2006-01-02T15:04:05.000000000Z07:00"

func (p *logPrinter) print(r logRecord) error {
	w, within := p.out, &p.within[0]
	if r.stderr {
		w, within = p.errs, &p.within[1]
	}
	var text []byte
	if p.timestamps && !*within {
		text = append(r.at.UTC().AppendFormat(text, timestamp), ' ')
	}

	text = append(text, r.text...)
	if r.whole {
		text = append(text, '\n')
	}
	*within = !r.whole
	_, err := w.Write(text)
	return err
}

// logReader reads a log from the oldest file that is kept, and goes on where it was when it is asked again.
type logReader struct {
	path   string
	file   *os.File
	buffer *bufio.Reader
	// next is the file after this one, which is read to its end first.
	next *os.File
	half []byte    // of a record that is still being written
	at   time.Time // of the last record
}

func (l *logReader) close() {
	for _, f := range []*os.File{l.file, l.next} {
		if f != nil {
			_ = f.Close() // only read
		}
	}
}

// each calls do with all records that are there now. A container without a log has said nothing.
func (l *logReader) each(do func(logRecord) error) error {
	for {
		line, err := l.line()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}

		r, err := parseRecord(line)
		if err != nil {
			r = unreadable(line, l.at)
		}
		l.at = r.at
		if err := do(r); err != nil {
			return err
		}
	}
}

// line returns the next record; io.EOF: there is none yet.
func (l *logReader) line() ([]byte, error) {
	for {
		if l.file == nil {
			next, err := l.follower()
			if err != nil {
				return nil, err
			}
			if next == nil {
				return nil, io.EOF
			}
			l.take(next)
		}

		part, err := l.buffer.ReadBytes('\n')
		l.half = append(l.half, part...)
		switch {
		case err == nil:
			line := l.half[:len(l.half)-1]
			l.half = nil
			return line, nil

		case !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read log: %w", err)
		case l.next != nil: // it was there before the end was read
			next := l.next
			l.next = nil
			_ = l.file.Close() // only read
			l.take(next)
			if line := l.half; len(line) > 0 { // no record goes on in another file
				l.half = nil
				return line, nil
			}
			continue
		}

		if l.next, err = l.follower(); err != nil {
			return nil, err
		}
		if l.next == nil {
			return nil, io.EOF
		}
	}
}

// mostOfRecord is the longest record that is written, in bytes, and more than that.
const mostOfRecord = 64 << 10

func (l *logReader) take(f *os.File) {
	l.file, l.buffer = f, bufio.NewReaderSize(f, mostOfRecord)
}

// follower opens the file that comes after the one that is read: at the beginning, or if that one is not kept any more,
// the oldest. It is nil if there is none. Files take other names meanwhile, so it looks again what it has found.
func (l *logReader) follower() (*os.File, error) {
	for range 100 {
		name := l.followerName()
		if name == "" {
			return nil, nil //nolint:nilnil // There is none, which is no error.
		}
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}

		if err != nil {
			return nil, fmt.Errorf("read log: %w", err)
		}
		if l.followerName() == name && sameFile(f, name) {
			return f, nil
		}
		_ = f.Close() // only opened
	}

	return nil, errors.New("read log: it is rotated faster than it is read")
}

// followerName returns the name of that file at the moment; "": there is none.
func (l *logReader) followerName() string {
	found, oldest := false, ""
	for _, name := range rotate.Names(l.path) {
		if _, err := os.Stat(name); err != nil {
			continue
		}

		switch {
		case found:
			return name
		case l.file != nil && sameFile(l.file, name):
			found = true
		case oldest == "":
			oldest = name
		}
	}
	if found {
		return ""
	}

	return oldest
}

func sameFile(f *os.File, name string) bool {
	a, err := f.Stat()
	if err != nil {
		return false
	}
	b, err := os.Stat(name)
	return err == nil && os.SameFile(a, b)
}
