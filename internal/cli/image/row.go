package image

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/distribution/reference"
	"github.com/docker/go-units"

	"mullion.dev/mullion/internal/cli/dockerout"
	"mullion.dev/mullion/internal/cli/exit"
	"mullion.dev/mullion/internal/cli/invoke"
	"mullion.dev/mullion/internal/runtime/image"
)

// row has what `docker image ls --format json` has of an image's name, by its names; OSVersion is Mullion's own.
type row struct{ CreatedAt, CreatedSince, Digest, ID, Repository, Size, Tag, OSVersion string }

func headings() row {
	return row{
		CreatedAt: "CREATED AT", CreatedSince: "CREATED", Digest: "DIGEST", ID: "IMAGE ID", Repository: "REPOSITORY",
		Size: "SIZE", Tag: "TAG", OSVersion: "OS VERSION",
	}
}

// none stands for what an image does not have.
const none = "<none>"

// print prints images: as a table with a line for each name, or as the flags say.
func (o listOptions) print(env invoke.Env, list []image.Info, now time.Time) error {
	list = slices.DeleteFunc(slices.Clone(list), func(i image.Info) bool { return !o.fits(i) })
	if o.name != "" {
		list = ofName(list, o.name)
	}

	switch {
	case o.output == "json":
		if list == nil {
			list = []image.Info{}
		}
		return json.NewEncoder(env.Out).Encode(list)
	case !o.quiet && !o.format.IsJSON() && !o.format.Given():
		return printImages(env.Out, list, o.whole)
	}

	var lines []any
	for _, i := range list {
		for _, r := range o.rows(i, now) {
			switch {
			case o.quiet && !o.format.Given() && !o.format.IsJSON():
				fmt.Fprintln(env.Out, r.ID)
			case o.format.IsJSON():
				if err := dockerout.JSON(env, r, ""); err != nil {
					return err
				}
			}
			lines = append(lines, r)
		}
	}
	if o.format.Given() {
		return o.format.Print(env, headings(), lines)
	}
	return nil
}

// rows returns a row for each tag of an image, or one for what has none.
func (o listOptions) rows(i image.Info, now time.Time) (rows []row) {
	r := row{
		CreatedAt:    "N/A",
		CreatedSince: "N/A",
		Digest:       none,
		ID:           i.ID,
		Repository:   none,
		Size:         units.HumanSizeWithPrecision(float64(i.Size), 3),
		Tag:          none,
		OSVersion:    systemOf(i),
	}
	if at := i.Spec.Created; at != nil && !at.IsZero() {
		r.CreatedAt, r.CreatedSince = at.Format("2006-01-02 15:04:05 -0700 MST"), units.HumanDuration(now.Sub(*at))+" ago"
	}
	if !o.whole {
		r.ID = shortID(i.ID)
	}

	digests := map[string]string{} // by repositories
	for _, ref := range i.RepoDigests {
		if repository, digest, ok := strings.Cut(ref, "@"); ok {
			digests[familiar(repository)] = digest
		}
	}
	for _, ref := range i.RepoTags {
		tagged := r
		tagged.Repository, tagged.Tag = cutTag(familiar(ref))
		if digest := digests[tagged.Repository]; digest != "" {
			tagged.Digest = digest
		}
		rows = append(rows, tagged)
	}
	if len(rows) > 0 {
		return rows
	}

	if repositories := slices.Sorted(maps.Keys(digests)); len(repositories) > 0 { // there rarely are two
		r.Repository, r.Digest = repositories[0], digests[repositories[0]]
	}
	return []row{r}
}

// shortID returns the beginning of an ID, as Docker shows it.
func shortID(id string) string {
	id = strings.TrimPrefix(id, "sha256:")
	return id[:min(len(id), 12)]
}

// familiar returns a reference as Docker shows it, without docker.io/library.
func familiar(ref string) string {
	named, err := reference.ParseNormalizedNamed(ref)
	if err != nil {
		return ref
	}
	return reference.FamiliarString(named)
}

// cutTag cuts a reference at its tag.
func cutTag(ref string) (repository, tag string) {
	if i := strings.LastIndexByte(ref, ':'); i > strings.LastIndexByte(ref, '/') {
		return ref[:i], ref[i+1:]
	}
	return ref, none
}

// names returns the references of an image as Docker shows them.
func names(i image.Info) (all []string) {
	for _, ref := range slices.Concat(i.RepoTags, i.RepoDigests) {
		all = append(all, familiar(ref))
	}
	return all
}

// ofName returns the images of a repository, or of one of its tags; the name may be a pattern.
func ofName(list []image.Info, name string) []image.Info {
	return slices.DeleteFunc(list, func(i image.Info) bool { return !isNamed(i, name) })
}

// isNamed reports whether one of an image's references fits a pattern, with its tag or without one.
func isNamed(i image.Info, pattern string) bool {
	pattern = familiar(pattern)
	return slices.ContainsFunc(names(i), func(ref string) bool {
		repository, _ := cutTag(ref)
		repository, _, _ = strings.Cut(repository, "@")
		whole, _ := path.Match(pattern, ref)
		part, _ := path.Match(pattern, repository)
		return whole || part
	})
}

// filterNames are the keys of --filter with their values.
const filterNames = "before=IMAGE, dangling=true|false (without a name), label=NAME[=VALUE], reference=PATTERN, since=IMAGE"

// chosen are values of --filter by their keys, and the times that some of them mean.
type chosen struct {
	values        map[string][]string
	before, since time.Time
}

// filterOf reads values of --filter (https://docs.docker.com/reference/cli/docker/image/ls/#filter): of one key one value
// has to fit, of labels all.
func filterOf(given []string, all []image.Info) (fits func(image.Info) bool, err error) {
	c := chosen{values: map[string][]string{}}
	for _, text := range given {
		key, value, ok := strings.Cut(text, "=")
		if !ok {
			err = fmt.Errorf("invalid argument %q: want KEY=VALUE", text)
		} else {
			err = c.take(key, value, all)
		}
		if exit.Code(err) == exit.NotFound {
			return nil, err
		}
		if err != nil {
			return nil, exit.Misuse(fmt.Errorf("--filter: %w", err), "`mullion image ls --help` has the keys and their values")
		}
	}
	return c.fits, nil
}

// take reads a value.
func (c *chosen) take(key, value string, all []image.Info) (err error) {
	switch key {
	case "before":
		c.before, err = madeAt(all, value)
	case "since":
		c.since, err = madeAt(all, value)
	case "dangling":
		if !slices.Contains([]string{"true", "1", "false", "0"}, value) {
			err = fmt.Errorf("invalid filter 'dangling=%s'", value)
		}
	case "label", "reference":
	default:
		err = fmt.Errorf("invalid filter '%s'", key)
	}
	c.values[key] = append(c.values[key], value)
	return err
}

// madeAt returns when the image that a filter names was made.
func madeAt(all []image.Info, name string) (time.Time, error) {
	these := found(all, name)
	if len(these) == 0 {
		return time.Time{}, &exit.Error{
			Code:   exit.NotFound,
			Err:    fmt.Errorf("--filter: there is no image %q", name),
			Remedy: "`mullion image ls` without --filter lists those that are here",
		}
	}
	return created(these[0]), nil
}

// fits reports whether an image is one of those that are chosen.
func (c *chosen) fits(i image.Info) bool {
	one := func(key string, is func(value string) bool) bool {
		return len(c.values[key]) == 0 || slices.ContainsFunc(c.values[key], is)
	}
	at := created(i)
	return (c.before.IsZero() || at.Before(c.before)) && (c.since.IsZero() || at.After(c.since)) &&
		hasLabels(i, c.values["label"]) &&
		one("dangling", func(value string) bool { return dangling(i) == (value == "true" || value == "1") }) &&
		one("reference", func(value string) bool { return isNamed(i, value) })
}

// dangling reports whether an image has no name.
func dangling(i image.Info) bool { return len(i.RepoTags)+len(i.RepoDigests) == 0 }

// created returns when an image was made, the zero time if it does not say.
func created(i image.Info) time.Time {
	if i.Spec.Created == nil {
		return time.Time{}
	}
	return *i.Spec.Created
}

func hasLabels(i image.Info, labels []string) bool {
	return !slices.ContainsFunc(labels, func(label string) bool {
		name, want, given := strings.Cut(label, "=")
		got, has := i.Config.Labels[name]
		return !has || (given && got != want)
	})
}

// leastOfID is how many digits of an ID name an image.
const leastOfID = 4

// found returns the images that a reference or the beginning of an ID names: the builds of an index are several.
func found(list []image.Info, text string) (out []image.Info) {
	full, err := image.Normalize(text)
	hex := strings.TrimPrefix(text, "sha256:")
	for _, i := range list {
		named := err == nil && (slices.Contains(i.RepoTags, full) || slices.Contains(i.RepoDigests, full))
		if named || (len(hex) >= leastOfID && strings.HasPrefix(strings.TrimPrefix(i.ID, "sha256:"), hex)) {
			out = append(out, i)
		}
	}
	return out
}

// errNoImage says that no image is meant.
var errNoImage = errors.New("No such image") //nolint:staticcheck // Docker's words
