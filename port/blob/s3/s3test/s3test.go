// Package s3test is a fake service that speaks the protocol of S3, for tests. It keeps one bucket in memory, and knows
// the requests that package s3 sends.
//
// A test's duties, in order:
//
//  1. Start a Server at loopback, or Pipe one in memory, which is for bubbles of testing/synctest: there stalls take no time.
//  2. Store opens a place in its only bucket, as Key, which it knows with Secret. A program of its own is given Endpoint, and these by its environment.
//  3. Upset, where requests are to go wrong: it is asked of each, by its number from 0, and says what becomes of it.
//
// It refuses what real services refuse: requests that are not signed with Secret or are 15 minutes late, and bodies that do not have the
// SHA-256 or CRC-32C that they come with. It also refuses parts that are too small, and what If-Match and If-None-Match exclude.
package s3test

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"hash/crc32"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"bellows/port/blob"
	"bellows/port/blob/s3"

	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// The accepted credentials, and the bucket.
const (
	Bucket = "tests"
	Key    = "AKIATESTTESTTESTTEST"
	Secret = "a-secret-that-nobody-may-see/+in-a-log"
)

// What is the outcome of a request.
type What int

// The effects of a Fault.
const (
	Served   What = iota // as it should
	Unasked              // the connection ends, and nothing was done
	Unheard              // it was done, and the connection ends
	Short                // what is read ends in the middle; else Unheard
	Damaged              // a bit of what is read, or of what is sent, is another
	Stalled              // there is no answer, and nothing is done, until the client gives up
	Answered             // with an error of the protocol, and nothing is done
)

// Fault is what becomes of a request.
type Fault struct {
	What   What
	Status int    // of Answered
	Code   string // of Answered
	Bit    int    // of Damaged: which one, counted through what passes
}

// Server is a service with one bucket.
type Server struct {
	// Endpoint is its address.
	Endpoint string
	// Sumless says that it keeps no checksums. It is set before the first request.
	Sumless bool
	// Heedless says that it gives whatever object there is, where a certain one is asked for. Likewise.
	Heedless bool

	bucket *bucket
	pipes  *pipes // nil: it is at loopback

	mu       sync.Mutex
	upset    func(n int, r *http.Request) Fault
	requests int
}

func newServer() *Server { return &Server{bucket: newBucket()} }

// Start serves at loopback until the test has ended.
func Start(t testing.TB) *Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := newServer()
	s.Endpoint = "http://" + l.Addr().String()
	s.listen(t, l)
	return s
}

// Serve serves at an address, for programs that scripts start. It returns an error, and calls ready with what it serves before.
func Serve(address string, ready func(*Server)) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	s := newServer()
	s.Endpoint = "http://" + l.Addr().String()
	ready(s)
	return http.Serve(l, s)
}

// Pipe serves in memory until the test has ended.
func Pipe(t testing.TB) *Server {
	t.Helper()
	s, l := newServer(), &pipes{made: make(chan net.Conn), closed: make(chan struct{})}
	s.Endpoint, s.pipes = "http://s3.invalid", l
	s.listen(t, l)
	return s
}

func (s *Server) listen(t testing.TB, l net.Listener) {
	h := &http.Server{Handler: s, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = h.Serve(l)
	}()
	t.Cleanup(func() {
		_ = h.Close()
		<-ended
	})
}

// Place returns the URI of a prefix.
func (s *Server) Place(prefix string) string {
	return "s3://" + Bucket + "/" + prefix + "?region=us-east-1&endpoint=" + url.QueryEscape(s.Endpoint)
}

// Store opens a prefix with valid credentials.
func (s *Server) Store(t testing.TB, prefix string) blob.Store {
	t.Helper()
	return s.StoreAs(t, s.Place(prefix), Key, Secret)
}

// StoreAs opens a place of the server with the given credentials.
func (s *Server) StoreAs(t testing.TB, place, key, secret string) blob.Store {
	t.Helper()
	o := s3.Options{Key: key, Secret: secret}
	if s.pipes != nil {
		o.Dial = s.pipes.dial
	}
	store, err := blob.Schemes{"s3": o.Open}.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// Open opens a place of the server as a program does that reads what others have put there.
func (s *Server) Open(ctx context.Context, at *url.URL) (blob.Store, error) {
	o := s3.Options{Key: Key, Secret: Secret, Others: true}
	if s.pipes != nil {
		o.Dial = s.pipes.dial
	}
	return o.Open(ctx, at)
}

// Put puts an object into the bucket of a server at an endpoint, as others do: under any name.
func Put(ctx context.Context, endpoint, name string, content []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, endpoint+"/"+Bucket+"/"+s3utils.EncodePath(name), bytes.NewReader(content))
	if err != nil {
		return err
	}
	whole := sha256.Sum256(content)
	r.Header.Set("X-Amz-Content-Sha256", hex.EncodeToString(whole[:]))
	r.Header.Set("X-Amz-Date", time.Now().UTC().Format(dateForm))
	r.Header.Set("Authorization", authorization(r, []string{"host", "x-amz-content-sha256", "x-amz-date"}))
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("put %s: %s", name, answer.Status)
	}
	return nil
}

// Hang makes a server in memory unreachable, with this error. It is called before the first request.
func (s *Server) Hang(why error) {
	s.pipes.fail = why
}

// Upset makes requests fail from now on, and counts them from 0 again; nil: none fails.
func (s *Server) Upset(upset func(n int, r *http.Request) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.upset, s.requests = upset, 0
}

// Requests returns the number of requests since the last Upset.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

func (s *Server) next(r *http.Request) (f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.upset != nil {
		f = s.upset(s.requests, r)
	}
	s.requests++
	return f
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	f := s.next(r)
	reads := r.Method == http.MethodGet && r.Header.Get("Range") != ""
	switch f.What {
	case Unasked:
		panic(http.ErrAbortHandler)
	case Stalled:
		<-r.Context().Done()
		panic(http.ErrAbortHandler)
	case Answered:
		refuse(w, r, f.Status, f.Code)
		return
	case Damaged:
		if !reads && len(body) > 0 {
			flip(body, f.Bit)
		}
	}
	answer := httptest.NewRecorder()
	if status, code := door(r, body); code != "" {
		refuse(answer, r, status, code)
	} else {
		s.serve(answer, r, body)
	}
	out := answer.Body.Bytes()
	if f.What == Unheard || f.What == Short && !reads {
		panic(http.ErrAbortHandler)
	}
	if f.What == Damaged && reads && len(out) > 0 {
		flip(out, f.Bit)
	}
	for name, values := range answer.Header() {
		w.Header()[name] = values
	}
	if r.Method != http.MethodHead {
		w.Header().Set("Content-Length", strconv.Itoa(len(out)))
	}
	w.WriteHeader(answer.Code)
	if f.What == Short {
		_, _ = w.Write(out[:len(out)/2])
		panic(http.ErrAbortHandler)
	}
	_, _ = w.Write(out)
}

func flip(b []byte, bit int) { b[bit/8%len(b)] ^= 1 << (bit % 8) }

func sumOf(b []byte) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli))))
}

// sumHeader has the CRC-32C of a body.
const sumHeader = "X-Amz-Checksum-Crc32c"

// lateMost is how far the time of a request may be from that of the service.
const lateMost = 15 * time.Minute

// door refuses a request that is not signed, late, or damaged on its way.
func door(r *http.Request, body []byte) (status int, code string) {
	given := r.Header.Get("Authorization")
	if !strings.Contains(given, "Credential="+Key+"/") {
		return http.StatusForbidden, "InvalidAccessKeyId"
	}
	if given != signed(r) {
		return http.StatusForbidden, "SignatureDoesNotMatch"
	}
	whole := sha256.Sum256(body)
	if sum := r.Header.Get("X-Amz-Content-Sha256"); len(sum) == 2*len(whole) && sum != hex.EncodeToString(whole[:]) {
		return http.StatusBadRequest, "XAmzContentSHA256Mismatch"
	}
	if at, err := time.Parse(dateForm, r.Header.Get("X-Amz-Date")); err != nil || time.Since(at).Abs() > lateMost {
		return http.StatusForbidden, "RequestTimeTooSkewed"
	}
	if sum := r.Header.Get(sumHeader); sum != "" && r.Method == http.MethodPut && sum != sumOf(body) {
		return http.StatusBadRequest, "BadDigest"
	}
	return 0, ""
}

// dateForm is that of the time of a request.
const dateForm = "20060102T150405Z"

// signed returns the Authorization that a request should have.
func signed(r *http.Request) string {
	_, names, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	return authorization(r, strings.Split(names, ";"))
}

// authorization signs a request and these of its headers with Secret. It follows "Signature Calculations for the Authorization Header" of Amazon's reference of S3, and shares
// nothing with the client that it checks.
func authorization(r *http.Request, names []string) string {
	query := strings.ReplaceAll(r.URL.Query().Encode(), "+", "%20") // in the order of its keys
	request := []string{r.Method, r.URL.EscapedPath(), query}
	for _, name := range names {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			if value = r.Host; value == "" {
				value = r.URL.Host
			}
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		request = append(request, name+":"+strings.Join(strings.Fields(value), " "))
	}
	request = append(request, "", strings.Join(names, ";"), r.Header.Get("X-Amz-Content-Sha256"))
	whole := sha256.Sum256([]byte(strings.Join(request, "\n")))

	at := r.Header.Get("X-Amz-Date")
	day, _, _ := strings.Cut(at, "T")
	scope := day + "/us-east-1/s3/aws4_request"
	key := []byte("AWS4" + Secret)
	for part := range strings.SplitSeq(scope, "/") {
		key = keyed(key, part)
	}
	signature := keyed(key, strings.Join([]string{"AWS4-HMAC-SHA256", at, scope, hex.EncodeToString(whole[:])}, "\n"))
	return fmt.Sprintf("AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%x", Key, scope, strings.Join(names, ";"), signature)
}

func keyed(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}

// refuse answers with an error of the protocol. That of a HEAD has no text.
func refuse(w http.ResponseWriter, r *http.Request, status int, code string) {
	type answer struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_ = xml.NewEncoder(w).Encode(answer{Code: code, Message: fmt.Sprintf("by the test, to %s", r.Method)})
	}
}

// pipes is a listener in memory.
type pipes struct {
	made   chan net.Conn
	closed chan struct{}
	once   sync.Once
	fail   error // set before the first call
}

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	if p.fail != nil {
		return nil, &net.OpError{Op: "dial", Net: "pipe", Addr: p.Addr(), Err: p.fail}
	}
	here, there := net.Pipe()
	select {
	case p.made <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Accept implements net.Listener.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.made:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "a pipe", Net: "pipe"} }
