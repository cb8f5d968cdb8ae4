package awsconfig

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"
)

// The times that bound a search for credentials, and the bytes that an answer may have.
const (
	metadataMost = 2 * time.Second
	serviceMost  = 10 * time.Second
	processMost  = time.Minute
	answerMost   = 1 << 20
)

// renewPart is the part of the life of credentials after which new ones are looked for, and renewPause the time between two attempts.
const (
	renewPart  = 0.8
	renewPause = time.Minute
)

// An Error says why no credentials were found.
type Error struct {
	Err  error  // nil: nothing is set
	Hint string // what to do; "": see the documentation
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err == nil {
		return "no credentials were found"
	}
	return "no credentials were found: " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func refuse(hint, format string, args ...any) error {
	return &Error{Err: fmt.Errorf(format, args...), Hint: hint}
}

// export returns the hint for profiles that only Amazon's own command can use.
func export(profile string) string {
	return `run eval "$(aws configure export-credentials --profile ` + profile + ` --format env)" first`
}

// Credentials sign the requests of a client and are renewed before they expire.
//
// Invariant: the client never looks for credentials itself, because it would do so without its caller's context.
type Credentials struct {
	turn    chan struct{} // holds one value while Renew looks for credentials
	find    func(ctx context.Context) (credentials.Value, error)
	value   atomic.Pointer[credentials.Value] // nil: none was found yet
	renewAt time.Time                         // zero: never
	signer  *credentials.Credentials
}

// obtained gives a client what was found. It is a credentials.Provider.
type obtained struct{ *Credentials }

// RetrieveWithCredContext implements credentials.Provider.
func (h obtained) RetrieveWithCredContext(*credentials.CredContext) (credentials.Value, error) {
	return h.Retrieve()
}

// Retrieve implements credentials.Provider.
func (h obtained) Retrieve() (credentials.Value, error) {
	if v := h.value.Load(); v != nil {
		return *v, nil
	}
	return credentials.Value{}, &Error{}
}

// IsExpired implements credentials.Provider.
func (h obtained) IsExpired() bool { return false }

func newCredentials(find func(ctx context.Context) (credentials.Value, error)) *Credentials {
	c := &Credentials{turn: make(chan struct{}, 1), find: find}
	c.signer = credentials.New(obtained{c})
	return c
}

// Static returns credentials that are known.
func Static(key, secret string) *Credentials {
	return newCredentials(func(context.Context) (credentials.Value, error) {
		return credentials.Value{AccessKeyID: key, SecretAccessKey: secret}, nil
	})
}

// Credentials returns those that the settings name. Nothing is looked for before Renew.
func (c *Config) Credentials() *Credentials { return newCredentials(c.find) }

// Signer returns what a client signs with. It is empty before the first Renew.
func (c *Credentials) Signer() *credentials.Credentials { return c.signer }

// Renew looks for credentials for the first time, and again when most of their life is over. While valid ones remain, they stay if that fails. The error is an *Error, or the context's.
func (c *Credentials) Renew(ctx context.Context) error {
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	now := time.Now()
	old := c.value.Load()
	if old != nil && (c.renewAt.IsZero() || now.Before(c.renewAt)) {
		return nil
	}
	v, err := c.find(ctx)
	if err == nil && (v.AccessKeyID == "" || v.SecretAccessKey == "") {
		err = &Error{}
	}
	if err != nil {
		if old != nil && now.Before(old.Expiration) {
			c.renewAt = now.Add(renewPause)
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if known := (*Error)(nil); !errors.As(err, &known) {
			err = &Error{Err: err}
		}
		return err
	}
	v.SignerType = credentials.SignatureV4
	c.value.Store(&v)
	c.renewAt = time.Time{}
	if !v.Expiration.IsZero() {
		c.renewAt = now.Add(time.Duration(renewPart * float64(v.Expiration.Sub(now))))
	}
	c.signer.Expire()
	_, err = c.signer.GetWithContext(nil) // takes it from obtained
	return err
}

// client returns a client for requests that must end within a time.
func (c *Config) client(most time.Duration) *http.Client {
	return &http.Client{Timeout: most, Transport: limited{cmp.Or[http.RoundTripper](c.Transport, http.DefaultTransport)},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// limited cuts answers that are longer than any with credentials.
type limited struct{ http.RoundTripper }

func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(answer.Body, answerMost), answer.Body}
	}
	return answer, err
}

// retrieve asks a provider of the client library, within a time.
func (c *Config) retrieve(ctx context.Context, from credentials.Provider, most time.Duration) (credentials.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return from.RetrieveWithCredContext(&credentials.CredContext{Context: ctx, Client: c.client(most)})
}

// find returns the credentials of the first source that is set.
func (c *Config) find(ctx context.Context) (credentials.Value, error) {
	if v, err := environment(); err != nil || v.AccessKeyID != "" {
		return v, err
	}
	if os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" {
		return c.webIdentity(ctx, os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"), os.Getenv("AWS_ROLE_ARN"), os.Getenv("AWS_ROLE_SESSION_NAME"))
	}
	return c.ofProfile(ctx, c.profile, nil)
}

// environment returns the keys of the environment; without any, an empty value.
func environment() (v credentials.Value, err error) {
	v.AccessKeyID = cmp.Or(os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_ACCESS_KEY"))
	v.SecretAccessKey = cmp.Or(os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SECRET_KEY"))
	v.SessionToken = os.Getenv("AWS_SESSION_TOKEN")
	if (v.AccessKeyID == "") != (v.SecretAccessKey == "") {
		return v, refuse("set both or neither", "one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is not set")
	}
	return v, nil
}

// ofProfile returns the credentials of a profile. via are the profiles that name it as their source.
func (c *Config) ofProfile(ctx context.Context, name string, via []string) (credentials.Value, error) {
	p, known := c.profiles[name]
	if !known && len(via) > 0 {
		return credentials.Value{}, refuse("see source_profile in the files of ~/.aws", "profile %q names the profile %q, which does not exist", via[len(via)-1], name)
	}
	if slices.Contains(via, name) {
		return credentials.Value{}, refuse("see source_profile in the files of ~/.aws", "profile %q is its own source", name)
	}
	if p["role_arn"] != "" && p["web_identity_token_file"] == "" {
		return c.assume(ctx, name, via)
	}
	return c.withoutRole(ctx, name, len(via) > 0)
}

// withoutRole returns the credentials of a profile, without the role that it may take on. If it has none, they are the machine's, but not for a source.
func (c *Config) withoutRole(ctx context.Context, name string, isSource bool) (credentials.Value, error) {
	p := c.profiles[name]
	key, secret := p["aws_access_key_id"], p["aws_secret_access_key"]
	switch {
	case (key == "") != (secret == ""):
		return credentials.Value{}, refuse("set both or neither", "profile %q has only one of aws_access_key_id and aws_secret_access_key", name)
	case key != "":
		return credentials.Value{AccessKeyID: key, SecretAccessKey: secret, SessionToken: p["aws_session_token"]}, nil
	case p["web_identity_token_file"] != "":
		return c.webIdentity(ctx, p["web_identity_token_file"], p["role_arn"], p["role_session_name"])
	case cmp.Or(p["sso_session"], p["sso_start_url"], p["sso_account_id"]) != "":
		v, err := c.retrieve(ctx, &credentials.FileAWSCredentials{Profile: name}, serviceMost)
		if err != nil {
			return v, &Error{Err: fmt.Errorf("profile %q uses single sign-on: %w", name, err), Hint: "run aws sso login --profile " + name + ", or " + export(name)}
		}
		return v, nil
	case p["credential_process"] != "":
		return process(ctx, name, p["credential_process"])
	case isSource:
		return credentials.Value{}, refuse("see source_profile in the files of ~/.aws", "profile %q, which others name as their source, has none", name)
	}
	return c.machine(ctx)
}

// assume returns the credentials of the role that a profile takes on.
func (c *Config) assume(ctx context.Context, name string, via []string) (v credentials.Value, err error) {
	p := c.profiles[name]
	source, from := p["source_profile"], p["credential_source"]
	switch {
	case p["mfa_serial"] != "":
		return v, refuse(export(name), "profile %q asks for a code of an MFA device, which bellows cannot ask for", name)
	case source != "" && from != "":
		return v, refuse("remove one of them from the profile", "profile %q has source_profile and credential_source", name)
	case source != "" && source != name:
		v, err = c.ofProfile(ctx, source, append(via, name))
	case from != "":
		v, err = c.sourceOf(ctx, name, from)
	default:
		v, err = c.withoutRole(ctx, name, true)
	}
	if err != nil {
		return v, err
	}
	seconds := 0
	if text := p["duration_seconds"]; text != "" {
		if seconds, err = strconv.Atoi(text); err != nil {
			return v, refuse("write a number of seconds", "profile %q has the duration_seconds %q", name, text)
		}
	}
	role := &credentials.STSAssumeRole{STSEndpoint: c.sts(), Options: credentials.STSAssumeRoleOptions{
		AccessKey: v.AccessKeyID, SecretKey: v.SecretAccessKey, SessionToken: v.SessionToken, Location: cmp.Or(c.Region, "us-east-1"), DurationSeconds: seconds,
		RoleARN: p["role_arn"], RoleSessionName: cmp.Or(p["role_session_name"], "bellows"), ExternalID: p["external_id"]}}
	if v, err = c.retrieve(ctx, role, serviceMost); err != nil {
		return v, refuse("check that the role exists and trusts the source of the profile", "profile %q cannot take on %s: %w", name, p["role_arn"], err)
	}
	return v, nil
}

// sourceOf returns the credentials that credential_source of a profile names.
func (c *Config) sourceOf(ctx context.Context, name, from string) (v credentials.Value, err error) {
	switch {
	case from == "Environment":
		if v, err = environment(); err == nil && v.AccessKeyID == "" {
			err = refuse("set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY", "profile %q takes its credentials from the environment, which has none", name)
		}
		return v, err
	case from == "EcsContainer" && inContainer(), from == "Ec2InstanceMetadata" && !inContainer():
		return c.machine(ctx)
	case from == "EcsContainer", from == "Ec2InstanceMetadata":
		return v, refuse("see credential_source in the files of ~/.aws", "profile %q takes its credentials from %s, which is not where this process runs", name, from)
	}
	return v, refuse("known are Environment, Ec2InstanceMetadata and EcsContainer", "profile %q has the credential_source %q", name, from)
}

// sts returns the address of the service that gives credentials of roles.
func (c *Config) sts() string {
	if at := c.endpoint("sts", nil); at != "" {
		return at
	}
	if c.Region == "" {
		return credentials.DefaultSTSRoleEndpoint
	}
	return "https://sts." + c.Region + "." + Suffix(c.Region)
}

// webIdentity returns the credentials of a role for the token of a file.
func (c *Config) webIdentity(ctx context.Context, token, role, session string) (credentials.Value, error) {
	if role == "" {
		return credentials.Value{}, refuse("set AWS_ROLE_ARN, or role_arn in the profile", "there is a web identity token, and no role for it")
	}
	from := &credentials.IAM{Endpoint: c.sts(), Region: c.Region}
	from.EKSIdentity.TokenFile, from.EKSIdentity.RoleARN, from.EKSIdentity.RoleSessionName = token, role, cmp.Or(session, "bellows")
	v, err := c.retrieve(ctx, from, serviceMost)
	if err != nil {
		return v, refuse("check that the role exists and trusts the issuer of the token", "the web identity token of %s does not give %s: %w", token, role, err)
	}
	return v, nil
}

func inContainer() bool {
	return cmp.Or(os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"), os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")) != ""
}

// machine returns the credentials of the container or of the instance.
func (c *Config) machine(ctx context.Context) (credentials.Value, error) {
	from := &credentials.IAM{Region: c.Region}
	switch full := os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI"); {
	case os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") != "":
	case full != "":
		if err := checkContainerHost(full); err != nil {
			return credentials.Value{}, err
		}
		from.Endpoint = full
	case isTrue(os.Getenv("AWS_EC2_METADATA_DISABLED")):
		return credentials.Value{}, nil
	default:
		from.Endpoint = strings.TrimSuffix(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "/")
		if from.Endpoint == "" && strings.EqualFold(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"), "IPv6") {
			from.Endpoint = "http://[fd00:ec2::254]"
		}
	}
	v, err := c.retrieve(ctx, from, 2*metadataMost)
	switch {
	case err == nil:
		return v, nil
	case inContainer():
		return v, refuse("see AWS_CONTAINER_CREDENTIALS_RELATIVE_URI and AWS_CONTAINER_CREDENTIALS_FULL_URI", "the container's credentials: %w", err)
	case isAbsent(err):
		return v, &Error{} // not a machine of Amazon's: it has no metadata service
	}
	return v, &Error{Err: fmt.Errorf("the metadata service of this machine: %w", err)}
}

// isAbsent reports whether an error says that nothing answers at an address.
func isAbsent(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) || errors.Is(err, context.DeadlineExceeded)
}

// containerHosts are the addresses of other hosts that get a container's token without encryption.
var containerHosts = []netip.Addr{netip.MustParseAddr("169.254.170.2"), netip.MustParseAddr("169.254.170.23"), netip.MustParseAddr("fd00:ec2::23")}

func checkContainerHost(uri string) error {
	at, err := url.Parse(uri)
	if err == nil && at.Scheme == "https" && at.Host != "" {
		return nil
	}
	if err == nil && at.Scheme == "http" {
		ip, wrong := netip.ParseAddr(at.Hostname())
		if wrong == nil && (ip.IsLoopback() || slices.Contains(containerHosts, ip)) || at.Hostname() == "localhost" {
			return nil
		}
	}
	return refuse("use https, or an address of this machine", "AWS_CONTAINER_CREDENTIALS_FULL_URI names no service that may have the container's token")
}

// process returns the credentials that a command prints. Its output is in no message.
func process(ctx context.Context, profile, command string) (v credentials.Value, err error) {
	ctx, cancel := context.WithTimeout(ctx, processMost)
	defer cancel()
	shell := []string{"sh", "-c", command}
	if runtime.GOOS == "windows" {
		shell = []string{"cmd.exe", "/C", command}
	}
	c := exec.CommandContext(ctx, shell[0], shell[1:]...)
	c.WaitDelay = time.Second
	out, err := c.Output()
	if err != nil {
		return v, refuse("run its command by hand", "credential_process of profile %q: %w", profile, err)
	}
	var printed struct {
		Version         int
		AccessKeyID     string `json:"AccessKeyId"`
		SecretAccessKey string
		SessionToken    string
		Expiration      time.Time
	}
	if json.Unmarshal(out, &printed) != nil || printed.Version != 1 || printed.AccessKeyID == "" || printed.SecretAccessKey == "" {
		return v, refuse("run its command by hand", "credential_process of profile %q prints no credentials of version 1", profile)
	}
	return credentials.Value{AccessKeyID: printed.AccessKeyID, SecretAccessKey: printed.SecretAccessKey, SessionToken: printed.SessionToken, Expiration: printed.Expiration}, nil
}
