package awsconfig

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7/pkg/credentials"

	"bellows/internal/require"
)

// unset clears every variable of Amazon's tools, and names a home without files. It returns the folder .aws of that home.
func unset(t *testing.T) string {
	t.Helper()
	for _, variable := range os.Environ() {
		if name, _, _ := strings.Cut(variable, "="); strings.HasPrefix(name, "AWS_") {
			t.Setenv(name, "")
		}
	}
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	folder := filepath.Join(home, ".aws")
	require.NoError(t, os.Mkdir(folder, 0o700))
	return folder
}

func write(t *testing.T, folder, name, text string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// set sets variables, each written as NAME=value.
func set(t *testing.T, variables ...string) {
	t.Helper()
	for _, v := range variables {
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
}

func TestSettings(t *testing.T) {
	const config = `[default]
region = eu-west-1
ca_bundle = /default.pem
[profile work]
region = eu-north-1
services = lab
use_fips_endpoint = true
[profile plain]
endpoint_url = http://plain:9000
[services lab]
dynamodb =
  endpoint_url = http://lab:8000
s3 =
  endpoint_url = http://lab:9000
[work]
region = nowhere
`
	for name, c := range map[string]struct {
		variables []string
		want      Config
	}{
		"default":        {nil, Config{Region: "eu-west-1", CABundle: "/default.pem"}},
		"profile":        {[]string{"AWS_PROFILE=work"}, Config{Region: "eu-north-1", Endpoint: "http://lab:9000", FIPS: true}},
		"credentials":    {[]string{"AWS_PROFILE=keys"}, Config{}},
		"old variable":   {[]string{"AWS_DEFAULT_PROFILE=plain"}, Config{Endpoint: "http://plain:9000"}},
		"ignored":        {[]string{"AWS_PROFILE=work", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS=true"}, Config{Region: "eu-north-1", FIPS: true}},
		"environment":    {[]string{"AWS_REGION=a", "AWS_DEFAULT_REGION=b", "AWS_CA_BUNDLE=c", "AWS_USE_DUALSTACK_ENDPOINT=TRUE"}, Config{Region: "a", CABundle: "c", DualStack: true}},
		"any service":    {[]string{"AWS_PROFILE=work", "AWS_ENDPOINT_URL=http://all", "AWS_USE_FIPS_ENDPOINT=false"}, Config{Region: "eu-north-1", Endpoint: "http://all"}},
		"this service":   {[]string{"AWS_ENDPOINT_URL=http://all", "AWS_ENDPOINT_URL_S3=http://s3", "AWS_DEFAULT_REGION=b"}, Config{Region: "b", CABundle: "/default.pem", Endpoint: "http://s3"}},
		"another folder": {[]string{"AWS_CONFIG_FILE=/nothing/here", "AWS_SHARED_CREDENTIALS_FILE=/nothing/there"}, Config{}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := unset(t)
			write(t, folder, "config", config)
			write(t, folder, "credentials", "[keys]\naws_access_key_id = a\n")
			set(t, c.variables...)
			got, err := Load()
			if err != nil || got.Region != c.want.Region || got.Endpoint != c.want.Endpoint || got.CABundle != c.want.CABundle || got.FIPS != c.want.FIPS || got.DualStack != c.want.DualStack {
				t.Errorf("%+v: %v", got, err)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	folder := unset(t)
	set(t, "AWS_PROFILE=nobody")
	if _, err := Load(); err == nil || !strings.Contains(err.Error(), `no profile is called "nobody" in `+folder) {
		t.Error(err)
	}
	path := write(t, folder, "config", "[default]\nregion\n")
	if _, err := Load(); err == nil || !strings.Contains(err.Error(), path+": line 2: a setting is written as key = value") {
		t.Error(err)
	}
}

// The credentials that sources give, beside those of keys: KEY, SECRET and TOKEN.
const (
	inFuture = "2099-01-02T03:04:05Z"
	asJSON   = `{"Code":"Success","AccessKeyId":"KEY","SecretAccessKey":"SECRET","Token":"TOKEN","Expiration":"` + inFuture + `"}`
	asXML    = `<Credentials><AccessKeyId>KEY</AccessKeyId><SecretAccessKey>SECRET</SecretAccessKey><SessionToken>TOKEN</SessionToken><Expiration>` + inFuture + `</Expiration></Credentials>`
)

// service answers as the metadata service, the container's, the token service and the portal of single sign-on do, at whatever host they are asked. It remembers what was asked.
func service(t *testing.T) (*httptest.Server, *[]string) {
	var asked []string
	role := func(w http.ResponseWriter, action string) {
		fmt.Fprintf(w, `<%sResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><%sResult>%s</%sResult></%sResponse>`, action, action, asXML, action, action)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		asked = append(asked, r.Method+" "+r.URL.Path)
		token := r.Header.Get(credentials.TokenRequestHeader) == "metadata"
		switch at := r.Method + " " + r.URL.Path; {
		case at == "PUT "+credentials.TokenPath && r.Header.Get(credentials.TokenRequestTTLHeader) != "":
			fmt.Fprint(w, "metadata")
		case at == "GET "+credentials.DefaultIAMSecurityCredsPath && token:
			fmt.Fprint(w, "machine")
		case at == "GET "+credentials.DefaultIAMSecurityCredsPath+"machine" && token:
			fmt.Fprint(w, asJSON)
		case at == "GET /container" && r.Header.Get("Authorization") == "container":
			fmt.Fprint(w, asJSON)
		case at == "GET /federation/credentials" && r.Header.Get("X-Amz-Sso_bearer_token") == "login" && r.Form.Get("account_id") == "1" && r.Form.Get("role_name") == "dev":
			fmt.Fprintf(w, `{"roleCredentials":{"accessKeyId":"KEY","secretAccessKey":"SECRET","sessionToken":"TOKEN","expiration":%d}}`, time.Now().Add(time.Hour).UnixMilli())
		case at == "POST /" && r.Form.Get("Action") == "AssumeRoleWithWebIdentity" && r.Form.Get("WebIdentityToken") == "pod" && r.Form.Get("RoleArn") == "arn:role":
			role(w, "AssumeRoleWithWebIdentity")
		case at == "POST /" && r.Form.Get("Action") == "AssumeRole" && r.Form.Get("RoleArn") == "arn:role" && r.Form.Get("ExternalId") != "other":
			asked[len(asked)-1] += " by " + r.Header.Get("Authorization") + " " + r.Form.Encode()
			role(w, "AssumeRole")
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Code>AccessDenied</Code><Message>not by the test</Message></Error></ErrorResponse>`)
		}
	}))
	t.Cleanup(s.Close)
	return s, &asked
}

// rerouted sends every request to one server.
type rerouted string

func (to rerouted) RoundTrip(r *http.Request) (*http.Response, error) {
	at, err := url.Parse(string(to))
	if err != nil {
		return nil, err
	}
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = at.Scheme, at.Host
	return http.DefaultTransport.RoundTrip(r)
}

const profiles = `[profile keys]
aws_access_key_id = KEY
aws_secret_access_key = SECRET
aws_session_token = TOKEN
[profile half]
aws_access_key_id = KEY
[profile process]
credential_process = printf '%s' '{"Version": 1, "AccessKeyId": "KEY", "SecretAccessKey": "SECRET", "SessionToken": "TOKEN", "Expiration": "2099-01-02T03:04:05Z"}'
[profile silent]
credential_process = echo a secret; exit 3
[profile strange]
credential_process = echo '{"Version": 2}'
[profile role]
role_arn = arn:role
source_profile = keys
external_id = ours
duration_seconds = 900
region = eu-west-1
[profile chain]
role_arn = arn:role
source_profile = role
[profile self]
role_arn = arn:role
source_profile = self
aws_access_key_id = OWN
aws_secret_access_key = SECRET
[profile denied]
role_arn = arn:role
source_profile = keys
external_id = other
[profile machine]
role_arn = arn:role
credential_source = Ec2InstanceMetadata
[profile contained]
role_arn = arn:role
credential_source = EcsContainer
[profile called]
role_arn = arn:role
credential_source = Environment
[profile elsewhere]
role_arn = arn:role
credential_source = Moon
[profile two]
role_arn = arn:role
credential_source = Environment
source_profile = keys
[profile code]
role_arn = arn:role
source_profile = keys
mfa_serial = arn:mfa
[profile round]
role_arn = arn:role
source_profile = trip
[profile trip]
role_arn = arn:role
source_profile = round
[profile lost]
role_arn = arn:role
source_profile = nobody
[profile empty]
region = eu-west-1
[profile bare]
role_arn = arn:role
source_profile = empty
[profile long]
role_arn = arn:role
source_profile = keys
duration_seconds = an hour
[profile pod]
role_arn = arn:role
web_identity_token_file = POD
[profile sso]
sso_session = work
sso_account_id = 1
sso_role_name = dev
[profile stale]
sso_session = other
sso_account_id = 1
sso_role_name = dev
[sso-session work]
sso_region = eu-west-1
sso_start_url = https://work.awsapps.com/start
[sso-session other]
sso_region = eu-west-1
sso_start_url = https://other.awsapps.com/start
`

// prepare writes profiles, a token of a pod and a token of `aws sso login`, and returns the settings with their requests going to a service.
func prepare(t *testing.T, variables ...string) (*Config, *[]string) {
	t.Helper()
	folder := unset(t)
	pod := write(t, folder, "pod", "pod")
	write(t, folder, "config", strings.Replace(profiles, "POD", pod, 1))
	name := sha1.Sum([]byte("work"))
	write(t, folder, "sso/cache/"+hex.EncodeToString(name[:])+".json", `{"accessToken":"login","expiresAt":"`+inFuture+`","region":"eu-west-1"}`)
	set(t, variables...)
	for _, v := range []string{"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"} {
		if os.Getenv(v) != "" {
			set(t, v+"="+write(t, folder, "token", os.Getenv(v)))
		}
	}
	c, err := Load()
	require.NoError(t, err)
	server, asked := service(t)
	c.Transport = rerouted(server.URL)
	return c, asked
}

// TestSources finds credentials in each place of them.
func TestSources(t *testing.T) {
	const sts, keyed = "POST /", "AWS4-HMAC-SHA256 Credential="
	for name, c := range map[string]struct {
		variables []string
		asked     string // by the last request; "": without requests
		requests  int
	}{
		"environment":               {[]string{"AWS_ACCESS_KEY_ID=KEY", "AWS_SECRET_ACCESS_KEY=SECRET", "AWS_SESSION_TOKEN=TOKEN", "AWS_PROFILE=sso"}, "", 0},
		"old names":                 {[]string{"AWS_ACCESS_KEY=KEY", "AWS_SECRET_KEY=SECRET", "AWS_SESSION_TOKEN=TOKEN"}, "", 0},
		"keys of a profile":         {[]string{"AWS_PROFILE=keys"}, "", 0},
		"process":                   {[]string{"AWS_PROFILE=process"}, "", 0},
		"single sign-on":            {[]string{"AWS_PROFILE=sso"}, "GET /federation/credentials", 1},
		"role of keys":              {[]string{"AWS_PROFILE=role"}, sts + " by " + keyed + "KEY/", 1},
		"role of a role":            {[]string{"AWS_PROFILE=chain", "AWS_REGION=eu-west-1"}, sts + " by " + keyed + "KEY/", 2},
		"role of the profile's key": {[]string{"AWS_PROFILE=self"}, sts + " by " + keyed + "OWN/", 1},
		"role of a machine":         {[]string{"AWS_PROFILE=machine"}, sts + " by " + keyed + "KEY/", 4},
		"role of a container":       {[]string{"AWS_PROFILE=contained", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN=container"}, sts + " by ", 2},
		"pod by the environment":    {[]string{"AWS_WEB_IDENTITY_TOKEN_FILE=pod", "AWS_ROLE_ARN=arn:role"}, sts, 1},
		"pod by a profile":          {[]string{"AWS_PROFILE=pod"}, sts, 1},
		"container":                 {[]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN=container"}, "GET /container", 1},
		"container's address":       {[]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://127.0.0.1:9/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN=container"}, "GET /container", 1},
		"pod identity":              {[]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=container"}, "GET /container", 1},
		"container over TLS":        {[]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=https://container.example/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN=container"}, "GET /container", 1},
		"machine":                   {nil, "GET " + credentials.DefaultIAMSecurityCredsPath + "machine", 3},
		"machine's address":         {[]string{"AWS_EC2_METADATA_SERVICE_ENDPOINT=http://metadata.example/"}, "GET " + credentials.DefaultIAMSecurityCredsPath + "machine", 3},
	} {
		t.Run(name, func(t *testing.T) {
			config, asked := prepare(t, c.variables...)
			found := config.Credentials()
			for range 2 { // the second is answered by the first
				require.NoError(t, found.Renew(t.Context()))
			}
			v, err := found.Signer().GetWithContext(nil)
			if err != nil || v.AccessKeyID != "KEY" || v.SecretAccessKey != "SECRET" || v.SessionToken != "TOKEN" || v.SignerType != credentials.SignatureV4 {
				t.Errorf("%+v: %v", v, err)
			}
			if len(*asked) != c.requests || c.requests > 0 && !strings.HasPrefix((*asked)[c.requests-1], c.asked) {
				t.Errorf("asked were %q", *asked)
			}
			if name == "role of keys" && (!strings.Contains((*asked)[0], "/eu-west-1/sts/aws4_request") || !strings.Contains((*asked)[0], "DurationSeconds=900&ExternalId=ours")) {
				t.Errorf("asked were %q", *asked)
			}
		})
	}
}

// TestRefusals checks that errors name the cause and what to do, and show no secret.
func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		variables []string
		says      string
		hint      string
	}{
		"none":                   {[]string{"AWS_EC2_METADATA_DISABLED=true"}, "no credentials were found", ""},
		"half an environment":    {[]string{"AWS_SECRET_ACCESS_KEY=a secret"}, "one of AWS_ACCESS_KEY_ID and", "set both"},
		"half a profile":         {[]string{"AWS_PROFILE=half"}, `profile "half" has only one of`, "set both"},
		"no role":                {[]string{"AWS_WEB_IDENTITY_TOKEN_FILE=pod"}, "no role for it", "AWS_ROLE_ARN"},
		"no trust":               {[]string{"AWS_WEB_IDENTITY_TOKEN_FILE=a secret", "AWS_ROLE_ARN=arn:role"}, "does not give arn:role: not by the test", "trusts the issuer"},
		"no login":               {[]string{"AWS_PROFILE=stale"}, `profile "stale" uses single sign-on`, "aws sso login --profile stale"},
		"a process that fails":   {[]string{"AWS_PROFILE=silent"}, `credential_process of profile "silent": exit status 3`, "by hand"},
		"a process of version 2": {[]string{"AWS_PROFILE=strange"}, "prints no credentials of version 1", "by hand"},
		"code of a device":       {[]string{"AWS_PROFILE=code"}, "asks for a code of an MFA device", `eval "$(aws configure export-credentials --profile code --format env)"`},
		"round trip":             {[]string{"AWS_PROFILE=round"}, `profile "round" is its own source`, "source_profile"},
		"lost source":            {[]string{"AWS_PROFILE=lost"}, `names the profile "nobody", which does not exist`, "source_profile"},
		"bare source":            {[]string{"AWS_PROFILE=bare"}, `profile "empty", which others name as their source, has none`, "source_profile"},
		"denied":                 {[]string{"AWS_PROFILE=denied"}, `profile "denied" cannot take on arn:role: not by the test`, "trusts the source"},
		"two sources":            {[]string{"AWS_PROFILE=two"}, "has source_profile and credential_source", "remove one"},
		"unknown source":         {[]string{"AWS_PROFILE=elsewhere"}, `credential_source "Moon"`, "known are"},
		"no container":           {[]string{"AWS_PROFILE=contained"}, "EcsContainer, which is not where", "credential_source"},
		"no machine":             {[]string{"AWS_PROFILE=machine", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/container"}, "Ec2InstanceMetadata, which is not where", "credential_source"},
		"no environment":         {[]string{"AWS_PROFILE=called"}, "the environment, which has none", "AWS_ACCESS_KEY_ID"},
		"a strange duration":     {[]string{"AWS_PROFILE=long"}, `the duration_seconds "an hour"`, "seconds"},
		"a foreign container":    {[]string{"AWS_CONTAINER_CREDENTIALS_FULL_URI=http://example.com/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=a secret"}, "names no service that may have", "https"},
		"a container's refusal":  {[]string{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/container", "AWS_CONTAINER_AUTHORIZATION_TOKEN=a secret"}, "the container's credentials: 403", "AWS_CONTAINER"},
	} {
		t.Run(name, func(t *testing.T) {
			config, _ := prepare(t, c.variables...)
			err := config.Credentials().Renew(t.Context())
			var e *Error
			if !errors.As(err, &e) || !strings.Contains(err.Error(), c.says) || !strings.Contains(e.Hint, c.hint) || strings.Contains(err.Error(), "a secret") {
				t.Errorf("%v; %+v", err, e)
			}
		})
	}
}

// TestMissingMetadataService reports missing credentials, not a failed service, if nothing answers.
func TestMissingMetadataService(t *testing.T) {
	unset(t)
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	set(t, "AWS_EC2_METADATA_SERVICE_ENDPOINT="+server.URL)
	c, err := Load()
	require.NoError(t, err)
	var e *Error
	if err := c.Credentials().Renew(t.Context()); !errors.As(err, &e) || e.Err != nil {
		t.Error(err)
	}
}

// TestRenewal looks for new credentials when four fifths of a life are over, keeps valid ones while it finds none, and ends with its context.
func TestRenewal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var wrong error
		found := 0
		c := newCredentials(func(context.Context) (credentials.Value, error) {
			if found++; wrong != nil {
				return credentials.Value{}, wrong
			}
			return credentials.Value{AccessKeyID: fmt.Sprint(found), SecretAccessKey: "s", Expiration: time.Now().Add(time.Hour)}, nil
		})
		renews := func(after time.Duration, want int, key string) {
			t.Helper()
			<-time.After(after)
			require.NoError(t, c.Renew(t.Context()))
			if v, err := c.Signer().GetWithContext(nil); err != nil || v.AccessKeyID != key || found != want || c.Signer().IsExpired() {
				t.Errorf("%d times found, now %+v: %v", found, v, err)
			}
		}
		renews(0, 1, "1")
		renews(47*time.Minute, 1, "1")
		renews(2*time.Minute, 2, "2")
		wrong = errors.New("there is no service")
		renews(50*time.Minute, 3, "2")
		renews(time.Second, 3, "2") // it is not asked at each request
		renews(2*time.Minute, 4, "2")
		<-time.After(10 * time.Minute)
		if err := c.Renew(t.Context()); !errors.Is(err, wrong) {
			t.Errorf("they are over: %v", err)
		}

		hung := newCredentials(func(ctx context.Context) (credentials.Value, error) {
			<-ctx.Done()
			return credentials.Value{}, ctx.Err()
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		first := make(chan error)
		go func() { first <- hung.Renew(ctx) }()
		synctest.Wait()
		late, end := context.WithTimeout(t.Context(), time.Millisecond)
		defer end()
		if err := hung.Renew(late); err != context.DeadlineExceeded { // it waits for the first
			t.Error(err)
		}
		if err := <-first; err != context.DeadlineExceeded {
			t.Error(err)
		}
	})
}

// TestProcessEndsWithItsContext, with what it has started.
func TestProcessEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := process(ctx, "p", "sleep 60"); err == nil || time.Since(began) > 20*time.Second {
		t.Errorf("after %v: %v", time.Since(began), err)
	}
}

func TestSuffix(t *testing.T) {
	t.Parallel()
	for region, want := range map[string]string{"eu-west-1": "amazonaws.com", "": "amazonaws.com", "us-gov-west-1": "amazonaws.com", "cn-north-1": "amazonaws.com.cn", "us-iso-east-1": "c2s.ic.gov", "eusc-de-east-1": "amazonaws.eu"} {
		if got := Suffix(region); got != want {
			t.Errorf("%s: %s", region, got)
		}
	}
}
