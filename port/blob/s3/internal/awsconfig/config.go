// Package awsconfig finds the settings and credentials of Amazon's tools: environment variables, files of ~/.aws, and
// the machine's services. Such services are those of the machine, its container or its Kubernetes pod.
//
// The caller's duties, in order:
//
//  1. Load the settings once. It reads environment variables and files and sends nothing.
//  2. Make Credentials of them, give their Signer to the client, and call Renew before each request.
//
// Credentials are looked for in the order of Amazon's SDK for Go, and the first source that is set is used:
//
//	AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN
//	AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN
//	the profile: role_arn with source_profile or credential_source, keys, web_identity_token_file, sso_session, credential_process
//	AWS_CONTAINER_CREDENTIALS_RELATIVE_URI or AWS_CONTAINER_CREDENTIALS_FULL_URI
//	the instance's metadata service, version 2
//
// The package refuses profiles that ask for a code of an MFA device. It uses the token that `aws sso login` has stored, and does not renew it.
package awsconfig

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
)

// Config is what the environment and the profile say.
type Config struct {
	Region    string // "": not set
	Endpoint  string // of S3; "": Amazon's
	CABundle  string // a file of certificates that replace the system's; "": not set
	FIPS      bool   // hosts with validated cryptography are wanted
	DualStack bool   // hosts that have IPv6 addresses are wanted

	// Transport carries the requests for credentials. Load leaves it nil.
	Transport http.RoundTripper

	profile  string
	profiles map[string]map[string]string
}

// Load reads the environment and the files. It returns an error if a file cannot be read, or if a named profile is in neither.
func Load() (*Config, error) {
	c := &Config{profiles: map[string]map[string]string{}}
	settings, err := load("AWS_CONFIG_FILE", "config")
	if err != nil {
		return nil, err
	}
	keys, err := load("AWS_SHARED_CREDENTIALS_FILE", "credentials")
	if err != nil {
		return nil, err
	}
	for section, values := range settings {
		if name, ok := strings.CutPrefix(section, "profile "); ok {
			c.profiles[strings.Trim(strings.TrimSpace(name), `"'`)] = values
		} else if section == "default" && settings["profile default"] == nil {
			c.profiles[section] = values
		}
	}
	for name, values := range keys {
		if c.profiles[name] == nil {
			c.profiles[name] = map[string]string{}
		}
		for key, value := range values {
			c.profiles[name][key] = value
		}
	}
	named := cmp.Or(os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE"))
	c.profile = cmp.Or(named, "default")
	if named != "" && c.profiles[named] == nil {
		return nil, fmt.Errorf("no profile is called %q in %s or %s", named, file("AWS_CONFIG_FILE", "config"), file("AWS_SHARED_CREDENTIALS_FILE", "credentials"))
	}
	p := c.profiles[c.profile]
	c.Region = cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), p["region"])
	c.CABundle = cmp.Or(os.Getenv("AWS_CA_BUNDLE"), p["ca_bundle"])
	c.FIPS = isTrue(cmp.Or(os.Getenv("AWS_USE_FIPS_ENDPOINT"), p["use_fips_endpoint"]))
	c.DualStack = isTrue(cmp.Or(os.Getenv("AWS_USE_DUALSTACK_ENDPOINT"), p["use_dualstack_endpoint"]))
	c.Endpoint = c.endpoint("s3", settings["services "+p["services"]])
	return c, nil
}

func isTrue(value string) bool { return strings.EqualFold(value, "true") }

// endpoint returns the configured address of a service of Amazon's; "": none.
func (c *Config) endpoint(service string, services map[string]string) string {
	p := c.profiles[c.profile]
	if isTrue(cmp.Or(os.Getenv("AWS_IGNORE_CONFIGURED_ENDPOINT_URLS"), p["ignore_configured_endpoint_urls"])) {
		return ""
	}
	return cmp.Or(os.Getenv("AWS_ENDPOINT_URL_"+strings.ToUpper(service)), os.Getenv("AWS_ENDPOINT_URL"), services[service+".endpoint_url"], p["endpoint_url"])
}

// file returns the path of a file, which a variable may name.
func file(variable, name string) string {
	if path := os.Getenv(variable); path != "" {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return filepath.Join(home, ".aws", name)
}

// load reads a file. One that does not exist has no sections.
func load(variable, name string) (sections, error) {
	path := file(variable, name)
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	found, err := parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return found, nil
}

// suffixes are the domains of the partitions of Amazon's cloud, by the beginnings of the names of their regions.
var suffixes = []struct{ prefix, suffix string }{
	{"cn-", "amazonaws.com.cn"},
	{"us-iso-", "c2s.ic.gov"},
	{"us-isob-", "sc2s.sgov.gov"},
	{"us-isof-", "csp.hci.ic.gov"},
	{"eu-isoe-", "cloud.adc-e.uk"},
	{"eusc-", "amazonaws.eu"},
}

// Suffix returns the domain of a region's hosts.
func Suffix(region string) string {
	for _, s := range suffixes {
		if strings.HasPrefix(region, s.prefix) {
			return s.suffix
		}
	}
	return "amazonaws.com"
}
