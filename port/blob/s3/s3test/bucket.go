package s3test

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The limits of real services.
const (
	pageMost  = 1000    // objects of one answer to a list
	partLeast = 5 << 20 // bytes of a part that is not the last one
)

// bucket keeps objects and unfinished uploads in memory, and answers requests for them by the rules of "Amazon S3 API Reference".
type bucket struct {
	mu      sync.Mutex
	objects map[string]*object
	uploads map[string]*upload
	begun   int // uploads so far
}

// object is what is stored under a key, and never changes.
type object struct {
	content  []byte
	etag     string
	sum      string // CRC-32C, as it was sent; "": none was
	headers  http.Header
	modified time.Time
}

// upload is an unfinished object, with the parts that have come.
type upload struct {
	key     string
	headers http.Header
	begun   time.Time
	parts   map[int]*object
}

func newBucket() *bucket {
	return &bucket{objects: map[string]*object{}, uploads: map[string]*upload{}}
}

func newObject(content []byte, sum string, headers http.Header) *object {
	hash := md5.Sum(content)
	return &object{content: content, etag: `"` + hex.EncodeToString(hash[:]) + `"`, sum: sum, headers: headers, modified: time.Now()}
}

// keptHeaders returns the headers that an object is sent with again.
func keptHeaders(r *http.Request) http.Header {
	kept := http.Header{}
	for name, values := range r.Header {
		if strings.HasPrefix(name, "X-Amz-Meta-") || name == "Content-Type" {
			kept[name] = values
		}
	}
	return kept
}

// serve answers a request that the door has let in.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	b := s.bucket
	b.mu.Lock()
	defer b.mu.Unlock()
	name, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	query := r.URL.Query()
	ask := r.Method
	for _, word := range []string{"list-type", "uploads", "uploadId"} {
		if query.Has(word) {
			ask += " " + word
		}
	}
	switch {
	case name != Bucket:
		refuse(w, r, http.StatusNotFound, "NoSuchBucket")
	case ask == "GET list-type":
		b.list(w, r)
	case ask == "GET uploads":
		b.listUploads(w, query.Get("prefix"))
	case key == "":
		refuse(w, r, http.StatusNotImplemented, "NotImplemented")
	case ask == "POST uploads":
		b.begun++
		id := fmt.Sprint("upload-", b.begun)
		b.uploads[id] = &upload{key: key, headers: keptHeaders(r), begun: time.Now(), parts: map[int]*object{}}
		send(w, "InitiateMultipartUploadResult", uploadAnswer{Bucket: Bucket, Key: key, UploadId: id})
	case strings.HasSuffix(ask, " uploadId"):
		u := b.uploads[query.Get("uploadId")]
		if u == nil || u.key != key {
			refuse(w, r, http.StatusNotFound, "NoSuchUpload")
			return
		}
		b.continueUpload(w, r, u, body)
	case ask == http.MethodPut:
		if b.refuseExisting(w, r, key) {
			return
		}
		o := newObject(body, r.Header.Get(sumHeader), keptHeaders(r))
		b.objects[key] = o
		w.Header().Set("ETag", o.etag)
	case ask == http.MethodDelete:
		delete(b.objects, key)
		w.WriteHeader(http.StatusNoContent)
	case ask == http.MethodHead, ask == http.MethodGet:
		s.read(w, r, b.objects[key])
	default:
		refuse(w, r, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

// refuseExisting refuses a request to create an object that exists.
func (b *bucket) refuseExisting(w http.ResponseWriter, r *http.Request, key string) bool {
	if b.objects[key] == nil || r.Header.Get("If-None-Match") != "*" {
		return false
	}
	refuse(w, r, http.StatusPreconditionFailed, "PreconditionFailed")
	return true
}

// read sends an object, or the range of it that was asked for.
func (s *Server) read(w http.ResponseWriter, r *http.Request, o *object) {
	wanted := r.Header.Get("If-Match")
	switch {
	case o == nil:
		refuse(w, r, http.StatusNotFound, "NoSuchKey")
		return
	case wanted != "" && wanted != o.etag && !s.Heedless:
		refuse(w, r, http.StatusPreconditionFailed, "PreconditionFailed")
		return
	}
	maps.Copy(w.Header(), o.headers)
	w.Header().Set("ETag", o.etag)
	if o.sum != "" && !s.Sumless && r.Method == http.MethodHead && r.Header.Get("X-Amz-Checksum-Mode") == "ENABLED" {
		w.Header().Set(sumHeader, o.sum)
		w.Header().Set("X-Amz-Checksum-Type", "FULL_OBJECT")
	}
	r.Header.Del("If-Match")
	http.ServeContent(w, r, "", o.modified, bytes.NewReader(o.content))
}

// continueUpload stores a part, puts the parts together or gives the upload up.
func (b *bucket) continueUpload(w http.ResponseWriter, r *http.Request, u *upload, body []byte) {
	id := r.URL.Query().Get("uploadId")
	switch r.Method {
	case http.MethodPut:
		n, err := strconv.Atoi(r.URL.Query().Get("partNumber"))
		if err != nil || n < 1 || n > 10_000 {
			refuse(w, r, http.StatusBadRequest, "InvalidArgument")
			return
		}
		u.parts[n] = newObject(body, r.Header.Get(sumHeader), nil)
		w.Header().Set("ETag", u.parts[n].etag)
	case http.MethodPost:
		if b.refuseExisting(w, r, u.key) {
			return
		}
		o, code := u.join(body, r.Header.Get(sumHeader))
		if code != "" {
			refuse(w, r, http.StatusBadRequest, code)
			return
		}
		b.objects[u.key] = o
		delete(b.uploads, id)
		send(w, "CompleteMultipartUploadResult", uploadAnswer{Bucket: Bucket, Key: u.key, ETag: o.etag})
	case http.MethodDelete:
		delete(b.uploads, id)
		w.WriteHeader(http.StatusNoContent)
	default:
		refuse(w, r, http.StatusMethodNotAllowed, "MethodNotAllowed")
	}
}

// join puts together the parts that a request lists, or returns the code of the refusal.
func (u *upload) join(list []byte, sum string) (o *object, code string) {
	var listed struct {
		Part []struct {
			PartNumber           int
			ETag, ChecksumCRC32C string
		}
	}
	if err := xml.Unmarshal(list, &listed); err != nil || len(listed.Part) == 0 {
		return nil, "MalformedXML"
	}
	var content, hashes []byte
	for i, p := range listed.Part {
		part := u.parts[p.PartNumber]
		switch {
		case i > 0 && p.PartNumber <= listed.Part[i-1].PartNumber:
			return nil, "InvalidPartOrder"
		case part == nil || strings.Trim(part.etag, `"`) != strings.Trim(p.ETag, `"`) ||
			p.ChecksumCRC32C != "" && p.ChecksumCRC32C != part.sum:
			return nil, "InvalidPart"
		case i+1 < len(listed.Part) && len(part.content) < partLeast:
			return nil, "EntityTooSmall"
		}
		hash := md5.Sum(part.content)
		content, hashes = append(content, part.content...), append(hashes, hash[:]...)
	}
	if sum != "" && sum != sumOf(content) {
		return nil, "BadDigest"
	}
	o = newObject(content, sum, u.headers)
	o.etag = fmt.Sprintf(`"%x-%d"`, md5.Sum(hashes), len(listed.Part))
	return o, ""
}

// list sends a page of the objects below a prefix, in the order of their keys.
func (b *bucket) list(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	most := pageMost
	if n, err := strconv.Atoi(query.Get("max-keys")); err == nil && n > 0 {
		most = min(n, pageMost)
	}
	after, err := base64.StdEncoding.DecodeString(query.Get("continuation-token"))
	if err != nil {
		refuse(w, r, http.StatusBadRequest, "InvalidArgument")
		return
	}
	type entry struct {
		Key, ETag    string
		Size         int
		LastModified time.Time
	}
	var page struct {
		IsTruncated           bool
		NextContinuationToken string `xml:",omitempty"`
		Contents              []entry
	}
	for _, key := range slices.Sorted(maps.Keys(b.objects)) {
		if !strings.HasPrefix(key, query.Get("prefix")) || len(after) > 0 && key <= string(after) {
			continue
		}
		if len(page.Contents) == most {
			page.IsTruncated = true
			page.NextContinuationToken = base64.StdEncoding.EncodeToString([]byte(page.Contents[most-1].Key))
			break
		}
		o := b.objects[key]
		page.Contents = append(page.Contents, entry{Key: key, ETag: o.etag, Size: len(o.content), LastModified: o.modified.UTC()})
	}
	send(w, "ListBucketResult", page)
}

// listUploads sends the unfinished uploads below a prefix.
func (b *bucket) listUploads(w http.ResponseWriter, prefix string) {
	type entry struct {
		Key, UploadId string
		Initiated     time.Time
	}
	var page struct {
		IsTruncated bool
		Upload      []entry
	}
	for id, u := range b.uploads {
		if strings.HasPrefix(u.key, prefix) {
			page.Upload = append(page.Upload, entry{Key: u.key, UploadId: id, Initiated: u.begun.UTC()})
		}
	}
	slices.SortFunc(page.Upload, func(a, b entry) int { return strings.Compare(a.Key+a.UploadId, b.Key+b.UploadId) })
	send(w, "ListMultipartUploadsResult", page)
}

// uploadAnswer says which upload has begun, or what object it has become.
type uploadAnswer struct {
	Bucket, Key string
	UploadId    string `xml:",omitempty"`
	ETag        string `xml:",omitempty"`
}

// send sends a document with this root.
func send(w http.ResponseWriter, root string, v any) {
	w.Header().Set("Content-Type", "application/xml")
	_ = xml.NewEncoder(w).EncodeElement(v, xml.StartElement{Name: xml.Name{Local: root}})
}
