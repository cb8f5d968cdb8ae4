package s3

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"bellows/port/blob/s3/internal/awsconfig"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/s3utils"
)

// A body of at least continueBytes is sent after the service has said that it takes it, or after continueMost: so a refusal is read before the connection breaks.
const (
	continueBytes = 2 << 20
	continueMost  = time.Second
)

// connectionsMost is the number of idle connections that are kept.
const connectionsMost = 10

// defaultRegion is the one of services that are not Amazon's: they want some, and mostly no certain one.
const defaultRegion = "us-east-1"

var regionForm = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

// client sends the requests of a store.
//
// Invariants: each request of the library is sent once, and try repeats it; it goes to the host that the settings name, has attemptMost, and ends with its caller's context; the
// library asks for no region and for no credentials.
type client struct {
	minio.Core
	endpoint    string // a host, perhaps with a port
	options     minio.Options
	dualStack   bool
	transport   transport
	credentials *awsconfig.Credentials
	region      string
}

// connect makes the client of a place. It sends nothing.
func (o Options) connect(p *place, settings *awsconfig.Config) (*client, error) {
	at, err := endpointOf(p, settings)
	if err != nil {
		return nil, err
	}
	base, err := newTransport(o, settings.CABundle)
	if err != nil {
		return nil, err
	}
	c := &client{endpoint: at.Host, dualStack: settings.DualStack, region: p.region}
	c.transport = transport{base: base, hosts: []string{at.Hostname(), p.bucket + "." + at.Hostname()}}
	if c.credentials = awsconfig.Static(o.Key, o.Secret); o.Key == "" {
		settings.Transport = base
		c.credentials = settings.Credentials()
	}
	c.options = minio.Options{Creds: c.credentials.Signer(), Secure: at.Scheme == "https", Transport: &c.transport, Region: cmp.Or(p.region, defaultRegion), BucketLookup: lookup(p, at), MaxRetries: 1}
	c.Core, err = c.core(&c.transport)
	return c, err
}

// endpointOf returns the address of a place's service, and fills in its region.
func endpointOf(p *place, settings *awsconfig.Config) (*url.URL, error) {
	given := cmp.Or(p.endpoint, settings.Endpoint)
	p.region = cmp.Or(p.region, settings.Region)
	if given == "" {
		if !regionForm.MatchString(p.region) {
			p.region = "" // each call reports that
		}
		return &url.URL{Scheme: "https", Host: amazonsHost(cmp.Or(p.region, defaultRegion), settings.FIPS, settings.DualStack)}, nil
	}
	at, err := url.Parse(given)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" || at.User != nil || strings.Trim(at.Path, "/") != "" || at.RawQuery != "" || at.Fragment != "" {
		return nil, errors.New("the endpoint of the AWS settings is no address such as http://127.0.0.1:9000")
	}
	p.elsewhere = true
	if p.region = cmp.Or(p.region, s3utils.GetRegionFromURL(*at), defaultRegion); !regionForm.MatchString(p.region) {
		return nil, errors.New("the region is none: it has lower-case letters, digits and hyphens")
	}
	if s3utils.IsAmazonEndpoint(*at) && !s3utils.IsAmazonFIPSEndpoint(*at) && !s3utils.IsAmazonPrivateLinkEndpoint(*at) {
		// Older names of a region's host, and that of all regions: the library asks the host of the region, whatever the name.
		if own := s3utils.GetRegionFromURL(*at); own == "" || own == p.region {
			settings.DualStack = strings.Contains(at.Host, ".dualstack.")
			at.Host = amazonsHost(p.region, false, settings.DualStack)
		}
	}
	return at, nil
}

// amazonsHost returns the host of Amazon's S3 in a region.
func amazonsHost(region string, fips, dualStack bool) string {
	host := "s3"
	if fips {
		host += "-fips"
	}
	if dualStack {
		host += ".dualstack"
	}
	return host + "." + region + "." + awsconfig.Suffix(region)
}

// lookup says where requests name the bucket.
func lookup(p *place, at *url.URL) minio.BucketLookupType {
	inPath := p.elsewhere || at.Scheme == "https" && strings.Contains(p.bucket, ".") // no certificate is for such a host
	if p.pathStyle != nil {
		inPath = *p.pathStyle
	}
	if inPath {
		return minio.BucketLookupPath
	}
	return minio.BucketLookupDNS
}

// core makes a client of the library.
func (c *client) core(by http.RoundTripper) (minio.Core, error) {
	options := c.options
	options.Transport = by
	core, err := minio.NewCore(c.endpoint, &options)
	if err != nil {
		return minio.Core{}, fmt.Errorf("the endpoint cannot be used: %w", err)
	}
	core.SetS3EnableDualstack(c.dualStack)
	return *core, nil
}

// lister makes a client with a context for all its requests. The library's lists by pages take none.
func (c *client) lister(ctx context.Context) (minio.Core, error) {
	by := c.transport
	by.ctx = ctx
	return c.core(&by)
}

// errNoRegion says that a bucket of Amazon's has no region.
var errNoRegion = errors.New("the region of the bucket is not set, or is not the name of a region")

// try sends a request by do, at most attempts times, with growing pauses.
func (c *client) try(ctx context.Context, do func(ctx context.Context) error) error {
	if c.region == "" {
		return errNoRegion
	}
	for n := 1; ; n++ {
		err := c.credentials.Renew(ctx)
		if err != nil {
			return err
		}
		if err = do(ctx); err == nil || n == attempts || !mayPass(err) {
			return err
		}
		pause := time.NewTimer(rand.N(min(backoffMost, time.Second<<(n-1))))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return err
		}
	}
}

// passing are the codes of answers that may be others when they are asked for again, beside those of some statuses.
var passing = []string{"InternalError", "RequestTimeout", "RequestTimeoutException", "SlowDown", "ServiceUnavailable", "Throttling", "ThrottlingException", "TooManyRequests",
	"TooManyRequestsException", "RequestLimitExceeded", "RequestThrottled", "BandwidthLimitExceeded", "PriorRequestNotComplete"}

// mayPass reports whether a request that failed may succeed later.
func mayPass(err error) bool {
	if a := answerOf(err); a != nil {
		return slices.Contains(passing, a.Code) ||
			slices.Contains([]int{http.StatusTooManyRequests, http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout}, a.StatusCode)
	}
	var dns *net.DNSError
	if errors.As(err, &dns) {
		return !dns.IsNotFound
	}
	var op net.Error
	var trust *tls.CertificateVerificationError
	return errors.Is(err, errCut) || errors.As(err, &op) && !errors.As(err, &trust) && !errors.Is(err, context.Canceled) && !errors.Is(err, errOtherHost)
}

// newTransport makes the connections of a store: those of Go's own client, with the limits of the package.
func newTransport(o Options, bundle string) (*http.Transport, error) {
	dialer := &net.Dialer{Timeout: dialMost, KeepAlive: 30 * time.Second}
	t := &http.Transport{Proxy: proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true, MaxIdleConns: connectionsMost, MaxIdleConnsPerHost: connectionsMost,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: dialMost, ExpectContinueTimeout: continueMost, DisableCompression: true, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12}}
	if o.Dial != nil {
		t.DialContext = o.Dial
	}
	if bundle != "" {
		certificates, err := os.ReadFile(bundle)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !t.TLSClientConfig.RootCAs.AppendCertsFromPEM(certificates) {
			return nil, fmt.Errorf("%s has no certificates", bundle)
		}
	}
	return t, nil
}

// proxy returns the proxy that the environment names, but not for the metadata services of machines and containers.
func proxy(r *http.Request) (*url.URL, error) {
	if ip, err := netip.ParseAddr(r.URL.Hostname()); err == nil && (ip.IsLinkLocalUnicast() || metadataNet.Contains(ip)) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(r)
}

// metadataNet has the addresses of Amazon's metadata services.
var metadataNet = netip.MustParsePrefix("fd00:ec2::/32")

var (
	errCut       = errors.New("the connection ends before the answer does")
	errOtherHost = errors.New("the library knows no address of the region")
)

// transport sends the requests of the library, each with its own time.
type transport struct {
	base  http.RoundTripper
	hosts []string        // those that may be asked
	ctx   context.Context // not nil: it stands for the contexts of requests
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if !slices.Contains(t.hosts, r.URL.Hostname()) { // for a region that it does not know the library asks another one
		if r.Body != nil {
			_ = r.Body.Close()
		}
		return nil, errOtherHost
	}
	ctx := r.Context()
	if t.ctx != nil {
		ctx = t.ctx
	}
	ctx, cancel := context.WithTimeout(ctx, attemptMost)
	r = r.WithContext(ctx)
	if r.ContentLength >= continueBytes {
		r.Header = r.Header.Clone()
		r.Header.Set("Expect", "100-continue")
	}
	answer, err := t.base.RoundTrip(r)
	if err != nil {
		cancel()
		return nil, cut(err)
	}
	answer.Body = &body{ReadCloser: answer.Body, end: cancel}
	return answer, nil
}

// body is what an answer has. Its request's time is over when it is closed.
type body struct {
	io.ReadCloser
	end context.CancelFunc
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = cut(err)
	}
	return n, err
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// cut returns errCut for errors that say that a connection ended too early: the library hides their causes.
func cut(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errCut
	}
	return err
}
