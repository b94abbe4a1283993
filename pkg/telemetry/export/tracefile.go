package export

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
)

// A traceFile is a client of OTLP that writes to a file: each line is an
// ExportTraceServiceRequest in OTLP/JSON
// (https://opentelemetry.io/docs/specs/otel/protocol/file-exporter/).
type traceFile struct {
	log *slog.Logger

	mu   sync.Mutex
	file *os.File
	// failed says that a write has failed. Then nothing more is written: it would go
	// behind half a line.
	failed bool
}

// newTraceFile makes what writes spans to a file, behind what the file has already. A
// file loses nothing, so who ends a span waits for the disk when that is slow.
func newTraceFile(ctx context.Context, path string, log *slog.Logger) (sdktrace.SpanProcessor, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the trace file: %w", err)
	}
	if err := endLine(f); err != nil {
		return nil, errors.Join(fmt.Errorf("end the last line of the trace file: %w", err), f.Close())
	}
	to, err := otlptrace.New(ctx, &traceFile{log: log, file: f})
	if err != nil {
		return nil, err
	}
	return sdktrace.NewBatchSpanProcessor(to, sdktrace.WithBlocking(), sdktrace.WithMaxQueueSize(2048), sdktrace.WithMaxExportBatchSize(512)), nil
}

// endLine ends the half line that a full disk, or a process that was killed, has left at
// the end of a file: what is written next would be lost in it.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return err
	}
	r, err := os.Open(f.Name())
	if err != nil {
		return err
	}
	defer r.Close()
	var last [1]byte
	if _, err := r.ReadAt(last[:], info.Size()-1); err != nil {
		return err
	}
	if last[0] != '\n' {
		_, err = f.Write([]byte{'\n'})
	}
	return err
}

// Start implements [otlptrace.Client].
func (*traceFile) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (f *traceFile) Stop(context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.file.Close(); err != nil {
		return fmt.Errorf("close the trace file: %w", err)
	}
	return nil
}

// UploadTraces implements [otlptrace.Client]. That spans cannot be encoded is told, that
// the disk is full once; neither ends a run.
func (f *traceFile) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	line, err := encode(spans)
	if err != nil {
		f.log.ErrorContext(ctx, "encode spans for the trace file", "error", err)
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed {
		return nil
	}
	if _, err := f.file.Write(line); err != nil {
		f.failed = true
		f.log.ErrorContext(ctx, "write the trace file; the rest of the spans is not written", "error", err)
	}
	return nil
}

// encode makes a line of spans, which it changes. protojson writes bytes in base64, and
// OTLP/JSON wants ids in hex: as a text in hex is one in base64 too, an id becomes the
// bytes that are written so.
func encode(spans []*tracepb.ResourceSpans) ([]byte, error) {
	var err error
	inHex := func(id *[]byte) {
		decoded, failed := base64.StdEncoding.DecodeString(hex.EncodeToString(*id))
		if failed != nil {
			err = failed
		}
		*id = decoded
	}
	for _, of := range spans {
		for _, scope := range of.ScopeSpans {
			for _, span := range scope.Spans {
				inHex(&span.TraceId)
				inHex(&span.SpanId)
				inHex(&span.ParentSpanId)
				for _, link := range span.Links {
					inHex(&link.TraceId)
					inHex(&link.SpanId)
				}
			}
		}
	}
	if err != nil {
		return nil, err
	}
	text, err := protojson.MarshalOptions{UseEnumNumbers: true}.Marshal(&collector.ExportTraceServiceRequest{ResourceSpans: spans})
	if err != nil {
		return nil, err
	}
	// protojson puts spaces by chance.
	var line bytes.Buffer
	if err := json.Compact(&line, text); err != nil {
		return nil, err
	}
	line.WriteByte('\n')
	return line.Bytes(), nil
}
