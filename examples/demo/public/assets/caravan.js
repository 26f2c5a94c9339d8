'use strict';

// The pages work without this file; it measures what only a browser can see.

function showTiming() {
    const place = document.querySelector('[data-timing="first-byte"]');
    const entry = performance.getEntriesByType('navigation')[0];
    if (!place || !entry || entry.responseStart === 0) {
        return;
    }
    place.textContent = `${(entry.responseStart - entry.requestStart).toFixed(1)} ms`;
    const names = { 'http/1.1': 'HTTP/1.1', h2: 'HTTP/2', h3: 'HTTP/3' };
    const protocol = names[entry.nextHopProtocol];
    if (protocol) {
        document.querySelector('[data-timing="protocol"]').textContent = `seen by your browser, over ${protocol}`;
    }
}

// Asks for the slow page once and for the pulse again and again, until the slow page is there.
async function race(root) {
    const button = root.querySelector('[data-race-start]');
    const bar = root.querySelector('[data-race-bar]');
    const dots = root.querySelector('[data-race-dots]');
    const verdict = root.querySelector('[data-race-verdict]');
    const expected = 3000;
    const workers = [];
    const times = [];
    let done = false;

    button.disabled = true;
    bar.classList.remove('done');
    dots.replaceChildren();
    verdict.textContent = 'The kettle is on …';
    const start = performance.now();
    const part = () => Math.min(1, (performance.now() - start) / expected);
    const draw = () => {
        bar.style.width = `${part() * 100}%`;
        if (!done) {
            requestAnimationFrame(draw);
        }
    };
    draw();

    const pulse = async () => {
        while (!done) {
            const asked = performance.now();
            const answer = await (await fetch('/api/pulse', { cache: 'no-store' })).json();
            if (done) {
                return;
            }
            times.push(performance.now() - asked);
            if (!workers.includes(answer.pid)) {
                workers.push(answer.pid);
            }
            const dot = document.createElement('span');
            dot.className = `dot worker-${workers.indexOf(answer.pid) % 6}`;
            dot.style.left = `${1 + part() * 98}%`;
            dots.append(dot);
            await new Promise((resolve) => setTimeout(resolve, 100));
        }
    };

    try {
        const others = pulse();
        const slow = await fetch(`/slow/wait?ms=${expected}`, { cache: 'no-store' });
        done = true;
        await slow.text();
        const seconds = ((performance.now() - start) / 1000).toFixed(2);
        bar.style.width = '100%';
        bar.classList.add('done');
        await others;
        times.sort((a, b) => a - b);
        verdict.textContent = times.length === 0
            ? `The slow request took ${seconds} s, and nobody else was served: this server has one worker.`
            : `The slow request took ${seconds} s. Meanwhile ${times.length} others were served by `
                + `${workers.length} ${workers.length === 1 ? 'worker' : 'workers'}, half of them within `
                + `${times[Math.floor(times.length / 2)].toFixed(1)} ms.`;
    } catch (error) {
        verdict.textContent = `The server did not answer: ${error.message}. Is it still running?`;
    } finally {
        done = true;
        button.disabled = false;
    }
}

showTiming();
for (const root of document.querySelectorAll('[data-race]')) {
    root.hidden = false;
    root.querySelector('[data-race-start]').addEventListener('click', () => race(root));
}
