'use strict';
(() => {
  const margin = 10;
  const width = 1200 - 2 * margin;
  const letter = 6.6;
  const details = document.getElementById('details');
  const boxes = [...document.querySelectorAll('#boxes g')].map((group) => {
    const rect = group.querySelector('rect');
    const title = group.querySelector('title').textContent;
    return {
      group, rect, title,
      text: group.querySelector('text'),
      name: title.replace(/ \([^()]*\)$/, '').replace(/ \/.*\/([^/]*:\d+)$/, ' $1'),
      x: parseFloat(rect.getAttribute('x')),
      y: parseFloat(rect.getAttribute('y')),
      width: parseFloat(rect.getAttribute('width')),
    };
  });

  function show(box, x, boxWidth) {
    box.group.style.display = boxWidth > 0.3 ? '' : 'none';
    box.rect.setAttribute('x', x);
    box.rect.setAttribute('width', Math.max(boxWidth, 0));
    box.text.setAttribute('x', x + 3);
    const room = Math.floor((boxWidth - 6) / letter);
    box.text.textContent = room < 3 ? '' : box.name.length <= room ? box.name : box.name.slice(0, room - 2) + '..';
  }

  /* What is clicked becomes as wide as the page; those that call it do too. */
  function enlarge(chosen) {
    const scale = chosen ? width / chosen.width : 1;
    for (const box of boxes) {
      const calls = chosen && box.y < chosen.y && box.x <= chosen.x + 0.01 && box.x + box.width >= chosen.x + chosen.width - 0.01;
      box.group.classList.toggle('outside', Boolean(calls));
      if (!chosen) {
        show(box, box.x, box.width);
      } else if (calls) {
        show(box, margin, width);
      } else {
        const from = Math.max(box.x, chosen.x);
        const to = Math.min(box.x + box.width, chosen.x + chosen.width);
        show(box, margin + (from - chosen.x) * scale, box.y >= chosen.y ? (to - from) * scale : 0);
      }
    }
  }

  const search = document.getElementById('search');
  const found = document.getElementById('found');
  let sought = '';

  /* Marks the boxes whose title contains the text, and shows their share without counting callees twice. */
  function mark(text) {
    sought = text;
    const part = text.toLowerCase();
    const matches = boxes.filter((box) => {
      const is = part !== '' && box.title.toLowerCase().includes(part);
      box.group.classList.toggle('found', is);
      return is;
    });
    let end = 0;
    let sum = 0;
    for (const box of matches.sort((one, two) => one.x - two.x || two.width - one.width)) {
      const more = box.x + box.width - Math.max(end, box.x);
      if (more > 0) {
        sum += more;
        end = box.x + box.width;
      }
    }
    found.textContent = part === '' ? '' : `${text}: ${matches.length} found, ${(sum * 100 / width).toFixed(2)} %`;
    search.textContent = part === '' ? 'Search' : 'Clear search';
  }

  function ask() {
    const text = sought === '' ? window.prompt('Search in names, files and lines') : '';
    if (text !== null) {
      mark(text.trim());
    }
  }

  search.addEventListener('click', (event) => {
    event.stopPropagation();
    ask();
  });
  search.style.display = '';
  document.addEventListener('keydown', (event) => {
    if (event.key === '/') {
      event.preventDefault();
      mark('');
      ask();
    } else if (event.key === 'Escape') {
      mark('');
      enlarge(null);
    }
  });

  for (const box of boxes) {
    box.group.addEventListener('click', (event) => {
      event.stopPropagation();
      enlarge(box);
    });
    box.group.addEventListener('mouseover', () => { details.textContent = box.title; });
    box.group.addEventListener('mouseout', () => { details.textContent = ''; });
  }
  document.documentElement.addEventListener('click', () => enlarge(null));
})();
