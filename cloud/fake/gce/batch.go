package gce

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/textproto"
)

// batch answers several requests that come in one, which gcloud sends.
func (s *Server) batch(w http.ResponseWriter, r *http.Request) {
	var answers bytes.Buffer
	out := multipart.NewWriter(&answers)
	if err := s.answerParts(r, out); err != nil {
		writeError(w, invalid("Failed to parse batch request: %v", err))
		return
	}
	w.Header().Set("Content-Type", "multipart/mixed; boundary="+out.Boundary())
	_, _ = w.Write(answers.Bytes())
}

func (s *Server) answerParts(r *http.Request, out *multipart.Writer) error {
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("reading the content type: %w", err)
	}
	for parts := multipart.NewReader(r.Body, parameters["boundary"]); ; {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return out.Close()
		}
		if err != nil {
			return fmt.Errorf("reading a part: %w", err)
		}
		inner, err := http.ReadRequest(bufio.NewReader(io.MultiReader(part, bytes.NewReader([]byte("\r\n")))))
		if err != nil {
			return fmt.Errorf("reading the request in a part: %w", err)
		}
		if inner.Header.Get("Authorization") == "" && r.Header.Get("Authorization") != "" {
			inner.Header.Set("Authorization", r.Header.Get("Authorization"))
		}
		answer := &recorder{header: http.Header{}, status: http.StatusOK}
		s.ServeHTTP(answer, inner.WithContext(r.Context()))
		header := textproto.MIMEHeader{"Content-Type": {"application/http"}}
		if id := part.Header.Get("Content-ID"); len(id) > 2 {
			header.Set("Content-ID", "<response-"+id[1:])
		}
		to, err := out.CreatePart(header)
		if err != nil {
			return fmt.Errorf("writing a part: %w", err)
		}
		response := http.Response{
			StatusCode: answer.status, ProtoMajor: 1, ProtoMinor: 1, Header: answer.header,
			ContentLength: int64(answer.body.Len()), Body: io.NopCloser(&answer.body),
		}
		if err := response.Write(to); err != nil {
			return fmt.Errorf("writing an answer: %w", err)
		}
	}
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) { r.status = status }

func (r *recorder) Write(text []byte) (int, error) { return r.body.Write(text) }
