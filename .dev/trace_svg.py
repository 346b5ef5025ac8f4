#!/usr/bin/env python3
"""Draws a trace as an SVG picture: a row a span, indented below its parent, coloured by the worker that told it.

usage: trace_svg.py TRACE.json > trace.svg      TRACE.json: what Jaeger's GET /api/traces/{trace id} answers
"""
import json
import sys
from html import escape

ROW, LEFT, WIDTH, TOP = 22, 330, 620, 58
COLOURS = ['#3566a8', '#2e8b62', '#8a5aa8', '#a8702e', '#4a8fa8', '#a84a7a']
LOST, OTHER, TEXT, DIM, LINE = '#c0392b', '#8a8f98', '#1f2430', '#666c78', '#e3e6ea'


def tags_of(span):
    return {tag['key']: tag['value'] for tag in span.get('tags', [])}


def parent_of(span):
    return next((r['spanID'] for r in span.get('references', []) if r['refType'] == 'CHILD_OF'), None)


def links_of(span):
    return [r['spanID'] for r in span.get('references', []) if r['refType'] != 'CHILD_OF']


def events_of(span):
    fields = [field for log in span.get('logs', []) for field in log['fields']]
    return [field['value'] for field in fields if field['key'] == 'event']


def in_tree_order(spans):
    """Depth first, children by their start."""
    known = {span['spanID'] for span in spans}
    children = {}
    for span in sorted(spans, key=lambda s: (s['startTime'], s['spanID'])):
        parent = parent_of(span)
        children.setdefault(parent if parent in known else None, []).append(span)
    rows = []

    def visit(parent, depth):
        for span in children.get(parent, []):
            rows.append((depth, span))
            visit(span['spanID'], depth + 1)

    visit(None, 0)
    return rows


def duration(us):
    return f'{us / 1e6:.2f} s' if us >= 1e6 else f'{us / 1e3:.1f} ms'


def draw(trace):
    rows = in_tree_order(trace['spans'])
    begin = min(span['startTime'] for _, span in rows)
    whole = max(max(span['startTime'] + span['duration'] for _, span in rows) - begin, 1)
    workers = sorted({tags_of(span)['acl.worker'] for _, span in rows if 'acl.worker' in tags_of(span)})
    colour = {worker: COLOURS[n % len(COLOURS)] for n, worker in enumerate(workers)}
    height, right = TOP + ROW * len(rows) + 34, LEFT + WIDTH
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {right + 90} {height}" font-family="sans-serif" font-size="12">',
           f'<rect width="{right + 90}" height="{height}" fill="#ffffff"/>',
           f'<text x="12" y="20" font-size="14" fill="{TEXT}">trace {escape(trace["traceID"])}: {len(rows)} spans, {duration(whole)}</text>']
    x = 12
    for name, fill in [*colour.items(), ('coordinator', OTHER), ('lost', LOST)]:
        out.append(f'<rect x="{x}" y="30" width="12" height="12" fill="{fill}"/><text x="{x + 17}" y="40" fill="{DIM}">{escape(name)}</text>')
        x += 32 + 8 * len(name)
    for tick in range(5):
        at = LEFT + WIDTH * tick / 4
        out.append(f'<line x1="{at}" y1="{TOP - 8}" x2="{at}" y2="{height - 26}" stroke="{LINE}"/>'
                   f'<text x="{at}" y="{height - 10}" fill="{DIM}" text-anchor="middle">{duration(whole * tick / 4)}</text>')
    place = {}
    for row, (depth, span) in enumerate(rows):
        tags, y = tags_of(span), TOP + ROW * row
        start = LEFT + WIDTH * (span['startTime'] - begin) / whole
        width = max(WIDTH * span['duration'] / whole, 2)
        lost = tags.get('acl.outcome') == 'lost'
        fill = LOST if lost else colour.get(tags.get('acl.worker'), OTHER)
        place[span['spanID']] = (start, start + width, y + 8)
        label = span['operationName'] + (' (lost)' if lost else '')
        if tags.get('acl.outcome') == 'failed':
            label += ' (failed)'
        out.append(f'<text x="{12 + 16 * depth}" y="{y + 13}" fill="{TEXT}">{escape(label[:44])}</text>')
        out.append(f'<rect class="span" x="{start:.1f}" y="{y + 3}" width="{width:.1f}" height="11" rx="2" fill="{fill}"/>')
        note = ', '.join(event.removeprefix('acl.') for event in events_of(span) if event in ('acl.takeover', 'acl.retry'))
        told = f'{duration(span["duration"])}{", " + note if note else ""}'
        beyond = start + width + 6 + 7 * len(told) > right + 90
        out.append(f'<text x="{(start - 5 if beyond else start + width + 5):.1f}" y="{y + 13}" fill="{DIM}" font-size="11"'
                   f'{" text-anchor=" + chr(34) + "end" + chr(34) if beyond else ""}>{escape(told)}</text>')
    for _, span in rows:
        for link in links_of(span):
            if link not in place or not span['operationName'].startswith('attempt'):
                continue
            (_, x1, y1), (x2, _, y2) = place[link], place[span['spanID']]
            if links_of(span) and tags_of(span).get('acl.outcome') == 'lost':
                continue   # its link to the claim of its token is not drawn
            out.append(f'<path class="link" d="M {x1:.1f} {y1} C {x1 + 14:.1f} {y1}, {x2 - 14:.1f} {y2}, {x2:.1f} {y2}" fill="none"'
                       f' stroke="{LOST}" stroke-dasharray="3 2"/>')
    return '\n'.join([*out, '</svg>', ''])


def main():
    with open(sys.argv[1], encoding='utf-8') as file:
        data = json.load(file)['data']
    if not data:
        sys.exit('trace_svg: the file holds no trace')
    sys.stdout.write(draw(data[0]))


if __name__ == '__main__':
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main()
