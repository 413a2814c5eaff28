! The core of a reactor over its life: data of nuclides are read, and broadened for the temperature; neutrons and heat are
! computed alternately (nested: couple); nuclides decay and breed; results are printed, in irregular order. Fixed work.
module core
    use iso_c_binding
    implicit none
    integer, parameter :: nuclides = 12, energies = 3000, side = 44, zones = 420, chain = 60
    type, bind(c) :: timespec
        integer(c_long) :: seconds, nanoseconds
    end type
    interface
        integer(c_int) function clock_gettime(clock, now) bind(c)
            import :: c_int, timespec
            integer(c_int), value :: clock
            type(timespec) :: now
        end function
    end interface
    real(8) :: energy(energies), cold(3, energies, nuclides), hot(3, energies, nuclides)
    real(8) :: density(nuclides, zones), flux(side, side, side), heat(side, side, side)
    integer(8) :: seed = 12345
contains
    subroutine mark(labels)
        character(*), intent(in) :: labels
        type(timespec) :: now
        integer :: unit, ignored
        ignored = clock_gettime(0, now)
        open(newunit=unit, file='truth', position='append')
        write(unit, '(i0, ".", i6.6, " ", a)') now%seconds, now%nanoseconds / 1000, labels
        close(unit)
    end subroutine

    real(8) function draw()
        seed = iand(seed * 25214903917_8 + 11_8, 281474976710655_8)
        draw = (real(seed, 8) + 1) / 281474976710657d0
    end function

    subroutine read_library(evaluations)
        integer, intent(in) :: evaluations
        integer :: unit, n, i, evaluation, nuclide
        real(8) :: value(3)
        cold = 0
        do evaluation = 1, evaluations
            open(newunit=unit, file='library.txt', status='old')
            do n = 1, nuclides
                do i = 1, energies
                    read(unit, *) nuclide, energy(i), value
                    cold(:, i, nuclide) = cold(:, i, nuclide) + value / evaluations
                end do
            end do
            close(unit)
        end do
    end subroutine

    ! Nuclei move: each value becomes a mean over its neighbours, wider at higher temperatures.
    subroutine broaden(temperature, window)
        real(8), intent(in) :: temperature
        integer, intent(in) :: window
        integer :: n, i, j
        real(8) :: width, weight, total, sums(3)
        do n = 1, nuclides
            do i = 1, energies
                width = energy(i) * sqrt(temperature * 1d-5 / n)
                total = 0
                sums = 0
                do j = max(1, i - window), min(energies, i + window)
                    weight = exp(-((energy(j) - energy(i)) / width)**2)
                    total = total + weight
                    sums = sums + weight * cold(:, j, n)
                end do
                hot(:, i, n) = sums / total
            end do
        end do
    end subroutine

    ! Histories of neutrons: fly, collide, slow down, until they are absorbed or leave the core.
    subroutine transport(histories)
        integer, intent(in) :: histories
        integer :: h, low, high, middle, n, zone, cell(3)
        real(8) :: at(3), way(3), e, total, absorbed, pick
        do h = 1, histories
            at = [draw(), draw(), draw()] * side
            e = 2d5 * draw()
            do
                way = [draw() - .5d0, draw() - .5d0, draw() - .5d0]
                way = way / sqrt(sum(way**2))
                low = 1
                high = energies
                do while (high - low > 1)
                    middle = (low + high) / 2
                    if (energy(middle) > e) then
                        high = middle
                    else
                        low = middle
                    end if
                end do
                zone = 1 + mod(int(at(1)) / 4 + int(at(2)) / 4 * 11 + int(at(3)) / 12 * 121, zones)
                total = 0
                absorbed = 0
                do n = 1, nuclides
                    total = total + density(n, zone) * hot(1, low, n)
                    absorbed = absorbed + density(n, zone) * (hot(2, low, n) + hot(3, low, n))
                end do
                at = at - log(draw()) / total * way
                if (any(at < 0) .or. any(at >= side)) exit
                cell = int(at) + 1
                flux(cell(1), cell(2), cell(3)) = flux(cell(1), cell(2), cell(3)) + 1 / total
                pick = draw()
                if (pick * total < absorbed .and. draw() < .5d0) exit
                e = e * (.3d0 + .7d0 * draw())
            end do
        end do
    end subroutine

    ! Heat spreads from where the neutrons are, and is taken away by water at each fourth column.
    subroutine conduct(iterations)
        integer, intent(in) :: iterations
        integer :: n, x, y, z
        do n = 1, iterations
            do z = 2, side - 1
                do y = 2, side - 1
                    do x = 2, side - 1
                        heat(x, y, z) = heat(x, y, z) + .16d0 * (heat(x - 1, y, z) + heat(x + 1, y, z) + heat(x, y - 1, z) + &
                            heat(x, y + 1, z) + heat(x, y, z - 1) + heat(x, y, z + 1) - 6 * heat(x, y, z)) + 1d-5 * flux(x, y, z)
                        if (mod(x, 4) == 0 .and. mod(y, 4) == 0) heat(x, y, z) = .9d0 * heat(x, y, z)
                    end do
                end do
            end do
        end do
    end subroutine

    ! Each zone's nuclides after some days: the exponential of a matrix of decays and captures.
    subroutine deplete(days)
        real(8), intent(in) :: days
        real(8) :: rates(chain, chain), power(chain, chain), term(chain, chain)
        integer :: zone, i, k
        do zone = 1, zones
            rates = 0
            do i = 1, chain
                rates(i, i) = -days * (.01d0 * i + 1d-7 * flux(1 + mod(zone, side), 20, 20)) / 1024
                if (i > 1) rates(i, i - 1) = -rates(i - 1, i - 1)
                if (i > 4) rates(i - 4, i) = -.1d0 * rates(i, i)
                rates(i, i) = 1.1d0 * rates(i, i)
            end do
            power = rates
            term = rates
            do k = 2, 12
                term = matmul(term, rates) / k
                power = power + term
            end do
            do i = 1, chain
                power(i, i) = power(i, i) + 1
            end do
            do k = 1, 10
                power = matmul(power, power)
            end do
            density(:, zone) = .9d0 * density(:, zone) + .1d0 * matmul(power(1:nuclides, 1:nuclides), density(:, zone))
        end do
    end subroutine

    subroutine print_results(name)
        character(*), intent(in) :: name
        integer :: unit, y, z
        open(newunit=unit, file=name, status='replace')
        do z = 1, side
            do y = 1, side
                write(unit, '(2i4, *(es13.5, f9.2))') y, z, flux(:, y, z), heat(:, y, z)
            end do
        end do
        write(unit, '(12f10.6)') density
        close(unit)
    end subroutine
end module

program reactor
    use core
    implicit none
    integer :: step, inner
    real(8) :: temperature = 600
    density = .01d0
    flux = 0
    heat = 300
    call mark('coarse=read')
    call read_library(6)
    do step = 1, 4
        call mark('coarse=broaden')
        call broaden(temperature, 240)
        do inner = 1, 1 + mod(step, 2)
            call mark('coarse=couple fine=transport')
            call transport(200000 + 20000 * step)
            call mark('coarse=couple fine=conduct')
            call conduct(600)
        end do
        temperature = 600 + sum(heat) / size(heat) * 1d-3
        call mark('coarse=deplete')
        call deplete(20d0 * step)
        call mark('coarse=print')
        call print_results('core.txt')
        call print_results('restart.txt')
    end do
end program
